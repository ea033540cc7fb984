// Runs scenarios through the real chat SDK clients: the published useChat
// hooks of majors 4 to 7, rendered in jsdom, with their own transports.
//
// Reads {"scenarios": [Scenario…]} from stdin and writes [Result…] to stdout;
// aisdk.go describes both. A few scenarios run at the same time, each in a chat
// of its own.

import { text as readAll } from 'node:stream/consumers';
import { JSDOM } from 'jsdom';

const dom = new JSDOM('<!doctype html>', { url: 'http://localhost/' });
for (const name of ['window', 'document', 'navigator', 'HTMLElement', 'Node', 'FileList', 'FileReader']) {
  const value = name === 'window' ? dom.window : dom.window[name];
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}
const { createElement } = await import('react');
const { createRoot } = await import('react-dom/client');

const unhandled = [];
process.on('unhandledRejection', (e) => unhandled.push(String(e?.message ?? e)));
process.on('uncaughtException', (e) => unhandled.push(String(e?.stack ?? e)));

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const until = async (condition) => {
  while (!condition()) await pause(3);
};

/** Renders a hook and returns a function that gives its current value. */
async function render(useHook) {
  const place = document.body.appendChild(document.createElement('div'));
  const root = createRoot(place);
  let value, drawn = 0, wanted = 0;
  const Component = ({ turn }) => ((value = useHook()), (drawn = turn), null);
  // Renders once more, which shows all that the hook has stored before.
  const settle = async () => {
    const turn = ++wanted;
    root.render(createElement(Component, { turn }));
    await until(() => drawn >= turn);
  };
  await settle();
  return { get: () => value, settle, unmount: () => root.unmount() };
}

/** A fetch that keeps what went out and what came back. */
function tap(exchanges) {
  return async (url, init = {}) => {
    const exchange = { method: init.method ?? 'GET', url: String(url), body: init.body ? JSON.parse(init.body) : null, raw: '' };
    exchanges.push(exchange);
    const response = await fetch(url, init);
    exchange.status = response.status;
    exchange.headers = Object.fromEntries(response.headers);
    if (!response.body) return response;
    const decoder = new TextDecoder();
    const body = response.body.pipeThrough(
      new TransformStream({
        transform(bytes, controller) {
          exchange.raw += decoder.decode(bytes, { stream: true });
          controller.enqueue(bytes);
        },
      }),
    );
    return new Response(body, { status: response.status, statusText: response.statusText, headers: response.headers });
  };
}

const attach = (f) => ({ url: `data:${f.mediaType};base64,${Buffer.from(f.text).toString('base64')}` });

/** Major 4: the data stream. */
async function chat4(s, exchanges, events) {
  const { useChat } = await import('react4');
  const hook = await render(() =>
    useChat({
      api: s.url, headers: s.headers, body: s.body, streamProtocol: 'data', sendExtraMessageFields: true, maxSteps: s.maxSteps,
      fetch: tap(exchanges),
      onFinish: (message, rest) => events.finish.push({ message, ...rest }),
      onError: (e) => events.error.push(e),
    }),
  );
  const chat = hook.get;
  const options = (threadId) => ({ body: threadId ? { threadId } : {} });
  return {
    send: (step, threadId) =>
      chat().append(
        { role: 'user', content: step.prompt },
        { ...options(threadId), ...(step.file && { experimental_attachments: [{ name: step.file.name, contentType: step.file.mediaType, ...attach(step.file) }] }) },
      ),
    regenerate: (_, threadId) => chat().reload(options(threadId)),
    resume: () => chat().experimental_resume(),
    stop: () => chat().stop(),
    text: (m) => m.content,
    state: () => ({ messages: chat().messages, data: chat().data ?? [], status: chat().status, error: chat().error }),
    settle: hook.settle,
    unmount: hook.unmount,
  };
}

/** Majors 5 to 7: the UI message stream. */
async function chat5(s, exchanges, events) {
  // The transport checks the chunks; of 5.0.0 only the transport is used.
  const ai = await import(`ai${s.major}${s.variant}`);
  const { useChat } = await import(`react${s.major}${s.variant === 'first' ? '' : s.variant}`);
  const transport = new ai.DefaultChatTransport({ api: s.url, headers: s.headers, body: s.body, fetch: tap(exchanges) });
  const automatic = s.maxSteps > 1 ? { sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithToolCalls } : {};
  const hook = await render(() =>
    useChat({
      transport, ...automatic,
      onFinish: (o) => events.finish.push(o),
      onError: (e) => events.error.push(e),
      onToolCall: ({ toolCall }) => events.toolCalls.push(toolCall.toolName),
    }),
  );
  const chat = hook.get;
  const options = (threadId) => ({ body: threadId ? { threadId } : {} });
  return {
    send: (step, threadId) =>
      chat().sendMessage(
        { text: step.prompt, ...(step.file && { files: [{ type: 'file', filename: step.file.name, mediaType: step.file.mediaType, ...attach(step.file) }] }) },
        options(threadId),
      ),
    regenerate: (_, threadId) => chat().regenerate(options(threadId)),
    resume: () => chat().resumeStream(),
    stop: () => chat().stop(),
    text: (m) => m.parts.filter((p) => p.type === 'text').map((p) => p.text).join(''),
    state: () => ({ messages: chat().messages, data: [], status: chat().status, error: chat().error }),
    settle: hook.settle,
    unmount: hook.unmount,
  };
}

/** Where an app finds the thread, and what it finds: [place, id] pairs. */
function threads(major, answer, data, finish) {
  const found = [];
  const add = (place, id) => typeof id === 'string' && id && found.push([place, id]);
  if (major === 4) {
    // The hook's data grows over all turns: the last entry is this turn's.
    add('data', data.findLast((d) => d?.type === 'finish')?.threadId);
    for (const a of answer?.annotations ?? []) add(`annotation ${a?.type}`, a?.threadId);
  } else {
    add('metadata', answer?.metadata?.threadId);
    add('onFinish metadata', finish?.message?.metadata?.threadId);
  }
  return found;
}

const sourceOf = (p) => (p.type === 'source' ? { url: p.source.url, title: p.source.title } : { url: p.url, title: p.title });
const toolOf = (p) => {
  const t = p.toolInvocation ?? p;
  return { name: t.toolName ?? p.type.slice('tool-'.length), state: t.state, input: t.args ?? t.input, output: t.result ?? t.output };
};

async function runStep(chat, s, step, threadId, exchanges, events) {
  const from = exchanges.length;
  for (const list of Object.values(events)) list.length = 0;
  const earlierData = chat.state().data.length;
  const answerOf = () => {
    const last = chat.state().messages.at(-1);
    return last?.role === 'assistant' ? last : undefined;
  };
  let thrown;
  const done = chat[step.do](step, threadId).catch((e) => (thrown = e));
  if (step.stop) {
    await until(() => answerOf() && chat.text(answerOf()));
    chat.stop();
  }
  await done;
  await chat.settle(); // the hook's state follows its promise
  await until(() => ['ready', 'error'].includes(chat.state().status));
  await pause(20); // an automatic request would start now
  await chat.settle();
  const { messages, data, status, error } = chat.state();
  const answer = answerOf();
  const parts = answer?.parts ?? [];
  const exchange = exchanges[from] ?? {};
  const finish = events.finish.at(-1);
  const found = threads(s.major, answer, data.slice(earlierData), finish);
  const failure = thrown ?? events.error[0] ?? error;
  return {
    do: step.do,
    requests: exchanges.length - from,
    method: exchange.method,
    httpStatus: exchange.status ?? 0,
    headers: exchange.headers ?? {},
    request: exchange.body ?? null,
    raw: exchange.raw ?? '',
    status,
    error: failure ? String(failure.message ?? failure) : '',
    messages: messages.length,
    messageId: answer?.id ?? '',
    text: answer ? chat.text(answer) : '',
    reasoning: parts.filter((p) => p.type === 'reasoning').map((p) => p.reasoning ?? p.text).join(''),
    parts: parts.map((p) => p.type),
    streaming: parts.filter((p) => p.state === 'streaming').map((p) => p.type),
    sources: parts.filter((p) => p.type === 'source' || p.type === 'source-url').map(sourceOf),
    tools: parts.filter((p) => p.type === 'tool-invocation' || p.type.startsWith('tool-')).map(toolOf),
    toolCalls: [...events.toolCalls],
    metadata: answer?.metadata ?? answer?.annotations?.findLast((a) => ['finish', 'error'].includes(a?.type)) ?? null,
    data: s.major === 4 ? data.slice(earlierData) : parts.filter((p) => p.type.startsWith('data-')),
    threadId: found[0]?.[1] ?? '',
    threadIds: [...new Set(found.map(([, id]) => id))],
    threadPlaces: found.map(([place]) => place),
    finished: events.finish.length > 0,
    finishReason: finish?.finishReason ?? '',
    // NaN, what a client computes without a usage, would be null in JSON.
    usage: finish?.usage ? Object.fromEntries(Object.entries(finish.usage).map(([k, v]) => [k, Number.isNaN(v) ? -1 : v])) : null,
    isAbort: finish?.isAbort ?? false,
    isError: finish?.isError ?? false,
  };
}

/** Reads a raw reply with every generation of the SDK's checks; says which refuse it and why. */
async function audit(major, raw) {
  const refused = {};
  if (major === 4) {
    const { processDataStream } = await import('uiutils4');
    const ignore = () => {};
    const handlers = Object.fromEntries(['Text', 'Data', 'Error', 'MessageAnnotations', 'ToolCall', 'ToolResult', 'FinishMessage', 'FinishStep', 'StartStep', 'Reasoning', 'Source'].map((n) => [`on${n}Part`, ignore]));
    await processDataStream({ stream: new Response(raw).body, ...handlers }).catch((e) => (refused.uiutils4 = String(e.message)));
    return refused;
  }
  for (const generation of ['ai5first', 'ai5strict', 'ai5', 'ai6strict', 'ai6', 'ai7strict', 'ai7']) {
    const { DefaultChatTransport } = await import(generation);
    const transport = new DefaultChatTransport({ api: 'http://localhost/', fetch: async () => new Response(raw) });
    try {
      const stream = await transport.sendMessages({ chatId: 'c', messages: [], trigger: 'submit-message' });
      const reader = stream.getReader();
      while (!(await reader.read()).done);
    } catch (e) {
      refused[generation] = String(e.message).replace(/\s+/g, ' ').slice(0, 300);
    }
  }
  return refused;
}

async function run(s) {
  s = { variant: '', headers: {}, body: {}, maxSteps: 1, timeout: 120_000, ...s };
  if (s.key) s.headers = { Authorization: `Bearer ${s.key}`, ...s.headers };
  if (s.variant === 'latest') s.variant = '';
  const result = { name: s.name, steps: [], refused: {}, problem: '' };
  const exchanges = [];
  const events = { finish: [], error: [], toolCalls: [] };
  const all = async () => {
    const chat = await (s.major === 4 ? chat4 : chat5)(s, exchanges, events);
    let threadId = '';
    for (const step of s.steps) {
      const outcome = await runStep(chat, s, { do: 'send', ...step }, s.noThread ? '' : threadId, exchanges, events);
      threadId = outcome.threadId || threadId;
      result.steps.push(outcome);
    }
    chat.unmount();
    if (s.audit) {
      for (const e of exchanges) if (e.status === 200) Object.assign(result.refused, await audit(s.major, e.raw));
    }
  };
  let timer;
  const late = new Promise((_, fail) => (timer = setTimeout(() => fail(new Error(`not done after ${s.timeout} ms`)), s.timeout)));
  await Promise.race([all(), late]).catch((e) => (result.problem = String(e?.stack ?? e)));
  clearTimeout(timer);
  return result;
}

const { scenarios } = JSON.parse(await readAll(process.stdin));
const results = [];
let next = 0;
const worker = async () => {
  for (let i = next++; i < scenarios.length; i = next++) results[i] = await run(scenarios[i]);
};
await Promise.all(Array.from({ length: 8 }, worker));
process.stdout.write(JSON.stringify({ results, unhandled }), () => process.exit(0));
