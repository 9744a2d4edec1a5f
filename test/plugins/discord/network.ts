/** The network for the tests that all channels share. */
import { lastWith, type StartNetwork } from "../channels/test-network.ts";
import { startDiscord, TOKEN } from "./server.ts";

export const network: StartNetwork = async (t) => {
  const server = await startDiscord(t);
  const { apiUrl } = server.config().channels.discord;
  const ada = { id: "160000000000000001", username: "ada", global_name: "Ada" };
  const channel = "180000000000000001";
  const says = (content: string, attachments: readonly object[] = []) => {
    const message = { id: server.newId(), type: 0, channel_id: channel, author: ada, content, attachments };
    const lists = { mentions: [], mention_roles: [] };
    server.dispatch("MESSAGE_CREATE", { ...message, ...lists, timestamp: "2026-01-02T03:04:05.000Z" });
  };
  const sent = () =>
    server.requests.filter(({ method, path }) => /^POST \/channels\/\d+\/messages/.test(`${method} ${path}`));
  return {
    id: "discord",
    settings: { apiUrl },
    login: { token: TOKEN },
    wrong: { token: "wrong-token" },
    says: (content) => says(content),
    sends: (content, size) =>
      says(content, [{ id: server.newId(), filename: "big.bin", size, url: "http://cdn.invalid/" }]),
    presses(label) {
      const { custom_id } = lastWith("label", label, sent());
      const place = { channel_id: channel, channel: { id: channel, type: 1 }, message: { id: server.newId() } };
      const press = { id: server.newId(), token: "press", type: 3, user: ada, data: { custom_id } };
      server.dispatch("INTERACTION_CREATE", { ...press, ...place });
    },
    heard: () =>
      server.requests
        .filter(({ method, path }) => /^(?:POST|PATCH) \/channels\/\d+\/messages/.test(`${method} ${path}`))
        .map(({ body }) => String(body["content"])),
    person: ada.id,
    sentIds: () => sent().map(({ body }) => body["nonce"]),
    falls: () => server.mute(true),
  };
};
