package assistant

import (
	"math"
	"testing"
)

// The counts are those of OpenAI's vocabulary cl100k_base.
func TestTokensAreEstimatedWithin15Percent(t *testing.T) {
	for _, c := range []struct {
		name, text string
		tokens     int
	}{
		{"English", "The server reads its configuration once, when it starts. To change it later without a restart, run `acme reload`: requests in progress finish with the old settings, and new ones use what you have written. If the file has a mistake, nothing changes, and the command prints the line and what it expected there. Keys are stored apart from the configuration, so that you can publish it; the server needs read access to both. A certificate is renewed thirty days before it expires. Where that fails, the log says why, and another attempt follows within six hours.", 115},
		{"German", "Der Server liest seine Konfiguration einmal beim Start. Um sie später ohne Neustart zu ändern, führen Sie `acme reload` aus: Laufende Anfragen werden mit den alten Einstellungen beendet, neue verwenden, was Sie geschrieben haben. Enthält die Datei einen Fehler, ändert sich nichts, und der Befehl gibt die Zeile aus und was dort erwartet wurde. Schlüssel werden getrennt von der Konfiguration gespeichert, damit Sie diese veröffentlichen können; der Server braucht Lesezugriff auf beides. Ein Zertifikat wird dreißig Tage vor seinem Ablauf erneuert. Schlägt das fehl, steht der Grund im Protokoll, und innerhalb von sechs Stunden folgt ein neuer Versuch.", 180},
		{"French", "Le serveur lit sa configuration une seule fois, au démarrage. Pour la modifier plus tard sans redémarrer, exécutez `acme reload` : les requêtes en cours se terminent avec les anciens réglages, et les nouvelles utilisent ce que vous avez écrit. Si le fichier contient une erreur, rien ne change, et la commande affiche la ligne et ce qui y était attendu. Les clés sont conservées à part de la configuration, afin que vous puissiez la publier ; le serveur doit pouvoir lire les deux. Un certificat est renouvelé trente jours avant son expiration. En cas d'échec, le journal en donne la raison, et une nouvelle tentative suit dans les six heures.", 162},
		{"Russian", "Сервер читает конфигурацию один раз, при запуске. Чтобы изменить её позже без перезапуска, выполните `acme reload`: текущие запросы завершатся со старыми настройками, а новые будут использовать то, что вы написали. Если в файле есть ошибка, ничего не изменится, и команда выведет строку и то, что в ней ожидалось. Ключи хранятся отдельно от конфигурации, чтобы её можно было опубликовать; серверу нужен доступ на чтение к обоим файлам. Сертификат обновляется за тридцать дней до окончания срока. Если это не удаётся, причина записывается в журнал, и в течение шести часов следует новая попытка.", 233},
		{"Chinese", "服务器在启动时读取一次配置。如果以后要在不重启的情况下更改配置，请运行 `acme reload`：正在处理的请求会按旧设置完成，新的请求则使用您写入的内容。如果文件有错误，则不会有任何变化，命令会显示出错的行以及那里应有的内容。密钥与配置分开存放，因此您可以公开配置；服务器需要对两者都有读取权限。证书会在到期前三十天续期。如果续期失败，日志会说明原因，并在六小时内再次尝试。", 157},
		{"Japanese", "サーバーは起動時に一度だけ設定を読み込みます。再起動せずに後から変更するには `acme reload` を実行してください。処理中のリクエストは古い設定のまま完了し、新しいリクエストには書き込んだ内容が使われます。ファイルに誤りがある場合は何も変わらず、コマンドがその行と期待される内容を表示します。鍵は設定とは別に保存されるため、設定を公開できます。サーバーには両方の読み取り権限が必要です。証明書は有効期限の三十日前に更新されます。失敗した場合は理由がログに記録され、六時間以内に再試行されます。", 239},
		{"Korean", "서버는 시작할 때 설정을 한 번 읽습니다. 나중에 다시 시작하지 않고 변경하려면 `acme reload`를 실행하세요. 진행 중인 요청은 이전 설정으로 끝나고 새 요청은 작성한 내용을 사용합니다. 파일에 오류가 있으면 아무것도 바뀌지 않으며, 명령은 해당 줄과 그곳에 있어야 할 내용을 출력합니다. 키는 설정과 별도로 저장되므로 설정을 공개할 수 있습니다. 서버는 둘 다 읽을 수 있어야 합니다. 인증서는 만료되기 삼십 일 전에 갱신됩니다. 실패하면 로그에 이유가 기록되고 여섯 시간 안에 다시 시도합니다.", 211},
		{"code", "```go\nfunc serve(ctx context.Context, addr string, h http.Handler) error {\n\tsrv := &http.Server{Addr: addr, Handler: h, ReadHeaderTimeout: 5 * time.Second}\n\tgo func() {\n\t\t<-ctx.Done()\n\t\t_ = srv.Shutdown(context.WithoutCancel(ctx))\n\t}()\n\tif err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {\n\t\treturn fmt.Errorf(\"listening on %s: %w\", addr, err)\n\t}\n\treturn nil\n}\n```\n\n```caddyfile\ndocs.acme.com {\n\troot * /srv/docs\n\tdocs acme {\n\t\trate_limit ip 600 1m\n\t\tinclude /guide/* /api/*\n\t}\n\tfile_server\n}\n```", 158},
	} {
		got := Tokens(c.text)
		if off := float64(got)/float64(c.tokens) - 1; math.Abs(off) > .15 {
			t.Errorf("%s: %d tokens, not %d (%+.2f)", c.name, got, c.tokens, off)
		}
		if n := Tokens([]byte(c.text)); n != got {
			t.Errorf("%s: %d tokens as bytes, %d as a string", c.name, n, got)
		}
	}
}
