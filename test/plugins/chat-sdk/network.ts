/** The network for the tests that all channels share: the adapter for Telegram, which asks a Bot API server for updates. */
import { lastWith, type StartNetwork } from "../channels/test-network.ts";
import { ann, CHAT, says } from "../telegram/scene.ts";
import { type ApiCall, startBotServer, TOKEN } from "../telegram/server.ts";

/** Text of a call, without the escapes of MarkdownV2. */
export const textOf = ({ body }: ApiCall) =>
  String(Object(body["rich_message"]).markdown ?? String(body["text"]).replaceAll(/\\([^\w\s])/g, "$1"));

export const optionsFor = (apiUrl: string) => ({ mode: "polling", apiUrl, longPolling: { timeout: 1 } });

export const network: StartNetwork = async (t) => {
  const server = await startBotServer(t);
  const options = optionsFor(server.apiRoot);
  const login = { adapter: "telegram", options: JSON.stringify(options) };
  return {
    id: "chat-sdk",
    settings: {},
    login: { ...login, credentials: JSON.stringify({ botToken: TOKEN }) },
    wrong: { ...login, credentials: JSON.stringify({ botToken: "1:wrong" }) },
    written: { adapter: "telegram", options, credentials: { botToken: TOKEN } },
    person: String(CHAT),
    says: (text) => void server.push(says(text)),
    sends(caption, bytes) {
      const document = { file_id: "f1", file_unique_id: "u1", file_name: "big.bin", file_size: bytes };
      server.push(says("", { text: undefined, caption, document }));
    },
    presses(label) {
      const { callback_data: data } = lastWith("text", label, server.of("sendMessage"));
      const message = { message_id: 1, date: 1, chat: { id: CHAT, type: "private" } };
      server.push({ callback_query: { id: "press", from: ann, message, data } });
    },
    heard: () =>
      ["sendRichMessage", "sendMessage", "editMessageText"].flatMap((method) => server.of(method).map(textOf)),
  };
};
