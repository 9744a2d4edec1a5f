/** The network for the tests that all channels share. */
import { lastWith, type StartNetwork } from "../channels/test-network.ts";
import { ADA, delivery, message, NUMBER_ID, SECRET, startServer, text, TOKEN, VERIFY } from "./server.ts";

export const network: StartNetwork = async (t) => {
  const server = await startServer(t);
  const login = { phoneNumberId: NUMBER_ID, accessToken: TOKEN, appSecret: SECRET, verifyToken: VERIFY };
  const say = (fields: object) => void server.deliver(delivery({ messages: [fields] }));
  return {
    id: "whatsapp",
    settings: { graphUrl: server.graphUrl, pingMs: 500 },
    login,
    wrong: { ...login, accessToken: "wrong" },
    person: ADA,
    meets: (gateway) => void (server.state.gateway = gateway),
    says: (words) => say(text(words)),
    sends(caption, size) {
      server.files.set("big", { size, bytes: Buffer.alloc(0) });
      say(message({ type: "document", document: { id: "big", filename: "big.bin", caption } }));
    },
    presses(label) {
      const { id } = lastWith("title", label, server.messages());
      const interactive = { type: "button_reply", button_reply: { id, title: label } };
      say(message({ type: "interactive", interactive, context: { id: "wamid.sent1" } }));
    },
    heard: () =>
      server.messages().map(({ text: plain, interactive }) => {
        const { body } = Object(plain ?? Object(interactive).body) as { body?: string };
        return body ?? String(Object(Object(interactive).body).text);
      }),
    falls: () => void (server.state.isSilent = true),
  };
};
