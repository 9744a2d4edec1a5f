/** The network for the tests that all channels share. */
import { lastWith, type StartNetwork } from "../channels/test-network.ts";
import { ANN, DIRECT, said } from "./scene.ts";
import { startSlack } from "./server.ts";

export const network: StartNetwork = async (t) => {
  const server = await startSlack(t);
  return {
    id: "slack",
    settings: { apiUrl: server.apiUrl, mode: "socket" },
    login: { botToken: "xoxb-1", appToken: "xapp-1" },
    wrong: { botToken: "nonsense", appToken: "xapp-1" },
    says: (text) => void server.deliver("events_api", said(text)),
    sends(text, size) {
      const files = [{ id: "F0000000001", name: "big.bin", mimetype: "application/octet-stream", size }];
      void server.deliver("events_api", said(text, { subtype: "file_share", files }));
    },
    async presses(label) {
      const sent = server.callsOf("chat.postMessage").map(({ args }): unknown => JSON.parse(args["blocks"] ?? "[]"));
      const text = { type: "plain_text", text: label, emoji: true };
      const { value } = lastWith("text", text, sent);
      const place = { channel: { id: DIRECT }, container: { message_ts: "1.2" } };
      const actions = [{ action_id: "svc:0:0", action_ts: "3.4", value, text }];
      await server.deliver("interactive", { type: "block_actions", user: { id: ANN }, ...place, actions });
    },
    heard: () =>
      [...server.callsOf("chat.postMessage"), ...server.callsOf("chat.update")].map(({ args }) => args["text"] ?? ""),
    person: ANN,
    falls: () => server.deafen(),
  };
};
