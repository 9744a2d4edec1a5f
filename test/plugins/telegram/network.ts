/** The network for the tests that all channels share. */
import { lastWith, type StartNetwork } from "../channels/test-network.ts";
import { ann, CHAT, says } from "./scene.ts";
import { startBotServer, TOKEN } from "./server.ts";

/** Somebody who writes to the bot, and presses its buttons. */
export const peopleOf = (server: Awaited<ReturnType<typeof startBotServer>>) => ({
  person: String(CHAT),
  says: (text: string) => void server.push(says(text)),
  sends(caption: string, bytes: number) {
    const document = { file_id: "f1", file_unique_id: "u1", file_name: "big.bin", file_size: bytes };
    server.push(says("", { text: undefined, caption, document }));
  },
  presses(label: string) {
    const { callback_data: data } = lastWith("text", label, server.of("sendMessage"));
    const message = { message_id: 1, date: 1, chat: { id: CHAT, type: "private" } };
    server.push({ callback_query: { id: "press", from: ann, message, data } });
  },
});

export const network: StartNetwork = async (t) => {
  const server = await startBotServer(t);
  const texts = () =>
    [...server.of("sendMessage"), ...server.of("editMessageText")].map(({ body }) => String(body["text"]));
  return {
    id: "telegram",
    settings: { apiRoot: server.apiRoot },
    login: { botToken: TOKEN },
    wrong: { botToken: "1:wrong" },
    ...peopleOf(server),
    heard: texts,
    falls: () => server.fallSilent(),
  };
};
