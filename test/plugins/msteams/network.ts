/** The network for the tests that all channels share. */
import { lastWith, type StartNetwork } from "../channels/test-network.ts";
import { ADA, said, startServer } from "./server.ts";

export const network: StartNetwork = async (t) => {
  const server = await startServer(t);
  let turn = Promise.resolve();
  /** One after the other, as Teams does in a conversation. */
  const deliver = (fields: object) => {
    turn = turn.then(() => server.delivers(fields)).catch(() => undefined); // the test misses the answer then
    return turn;
  };
  return {
    id: "msteams",
    settings: server.settings,
    login: server.login,
    wrong: { ...server.login, appPassword: "wrong" },
    person: ADA,
    meets: server.meets,
    says: (text) => void deliver(said(text)),
    sends(text, size) {
      const contentType = "application/vnd.microsoft.teams.file.download.info";
      const content = { downloadUrl: `${server.url}/files/secret-of-the-file?size=${size}`, fileType: "bin" };
      void deliver(said(text, { attachments: [{ contentType, name: "big.bin", content }] }));
    },
    async presses(label) {
      const { data } = lastWith("title", label, server.activities());
      await deliver(said("", { value: data, replyToId: "sent-1" }));
    },
    heard: () => server.heard().map((text) => text.replace(/<br>/g, "\n").replace(/<[^>]*>/g, "")),
    falls: () => void (server.state.isDeaf = true),
  };
};
