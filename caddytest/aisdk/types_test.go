package aisdk

import (
	"context"
	"os"
	"sync"
	"testing"
)

// uses is code of an app, by the majors that it is for.
var uses = map[string][]int{
	`
import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport, isToolUIPart, type UIMessage, type UIMessageChunk } from 'ai'
import type { ApiError, DocsData, DocsMetadata, DocsStreamEvent, DocsTools, DocsUIMessage, MessageRequestV2, SearchRequest, SearchResult } from './types'

export function Chat() {
  const { messages, sendMessage } = useChat<DocsUIMessage>({
    transport: new DefaultChatTransport({ api: '/v2/assistant/acme/message' }),
    onFinish: ({ message }) => { const thread: string | undefined = message.metadata?.threadId; void thread },
  })
  void sendMessage({ text: 'q' })
  return messages.flatMap(m => m.parts.map(p => {
    switch (p.type) {
      case 'text': return p.text
      case 'source-url': return p.url
      case 'data-suggestions': return p.data.questions.join()
      case 'tool-search': return p.state === 'output-available' ? p.output[0].metadata.title : p.input?.query
      default: return isToolUIPart(p) ? p.toolCallId : p.type
    }
  }))
}

export function Whole() {
  return useChat<UIMessage<DocsMetadata, DocsData, DocsTools>>({
    onData: part => { if (part.type === 'data-suggestions') void part.data.questions[0].length },
  }).messages satisfies UIMessage[]
}

// What the SDK calls a message is one, and so is what it sends.
export const widen = (m: DocsUIMessage): UIMessage => m
export const send = (messages: UIMessage[]): MessageRequestV2 => ({ fp: 'anonymous', messages })
export const chunk = (e: Exclude<DocsStreamEvent, { type: 'data-suggestions' }>): UIMessageChunk => e

export async function search(query: SearchRequest['query']): Promise<SearchResult[]> {
  const request: SearchRequest = { query, fields: ['snippet'], filter: null }
  const response = await fetch('/v1/search/acme', { method: 'POST', body: JSON.stringify(request) })
  if (!response.ok) throw new Error(((await response.json()) as ApiError).error)
  return response.json() as Promise<SearchResult[]>
}

// @ts-expect-error there is no such code
export const code: ApiError['code'] = 'nothing'
// @ts-expect-error the query is required
export const empty: SearchRequest = {}
`: {5, 6, 7},
	`
import { useChat } from '@ai-sdk/react'
import type { Message } from 'ai'
import type { DocsAnnotation, DocsMessageV4, DocsStreamData, MessageRequestV1 } from './types'

export function Chat() {
  const { messages, data } = useChat({ api: '/v1/assistant/acme/message', sendExtraMessageFields: true })
  const finished = (data as DocsStreamData[] | undefined)?.filter(d => d.type === 'finish').pop()
  const thread: string | undefined = finished?.type === 'finish' ? finished.threadId : undefined
  void thread
  return messages.map(m => (m.annotations as DocsAnnotation[] | undefined)?.map(a => a.type === 'finish' ? a.cited?.length : a.type === 'error' ? a.code : a.threadId))
}
export const widen = (m: DocsMessageV4): Message => m
export const send = (messages: DocsMessageV4[]): Pick<MessageRequestV1, 'fp'> & { messages: { role: MessageRequestV1['messages'][number]['role'] }[] } => ({ fp: 'anonymous', messages })
`: {4},
}

// The types of the API compile under --strict, alone and with the SDK's of
// every major: its messages are those of the types, and the other way around.
func TestTheTypesOfTheAPIFitTheClients(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Node")
	}
	if err := Install(context.Background()); err != nil {
		t.Fatal(err)
	}
	types, err := os.ReadFile("../../contract/types.d.ts")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for use, majors := range uses {
		for _, major := range majors {
			wg.Go(func() {
				// As a .ts, so that skipLibCheck doesn't skip it.
				out, err := compile(t, major, map[string]string{"types.ts": string(types), "app.ts": use})
				if err != nil {
					t.Errorf("with ai@%d: %v\n%s", major, err, out)
				}
			})
		}
	}
	wg.Wait()
}
