/** The network for the tests that all channels share: the adapter for Telegram, which asks a Bot API server for updates. */
import type { StartNetwork } from "../channels/test-network.ts";
import { peopleOf } from "../telegram/network.ts";
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
    ...peopleOf(server),
    heard: () =>
      ["sendRichMessage", "sendMessage", "editMessageText"].flatMap((method) => server.of(method).map(textOf)),
  };
};
