/** The network for the tests that all channels share. */
import type { StartNetwork } from "../channels/test-network.ts";
import { ADA, BOT, PASSWORD, startServer, TOKEN } from "./server.ts";

export const network: StartNetwork = async (t) => {
  const server = await startServer(t);
  return {
    id: "matrix",
    settings: { syncTimeoutMs: 1_000 },
    login: { homeserverUrl: server.url, userId: BOT, password: PASSWORD },
    wrong: { homeserverUrl: server.url, userId: BOT, password: "wrong" },
    written: { homeserverUrl: server.url, accessToken: TOKEN },
    person: ADA,
    says: (text) => void server.says(text),
    sends(text, size) {
      const info = { size, mimetype: "application/octet-stream" };
      server.says(text, { msgtype: "m.file", filename: "big.bin", url: "mxc://test/big", info });
    },
    heard: () => server.contents().map((content) => String(Object(content["m.new_content"] ?? content).body)),
    sentIds: () =>
      server.sent
        .filter(({ event }) => /^answer \d+ is/.test(String(event.content["body"])))
        .map(({ transaction }) => transaction),
    falls: () => server.fallSilent(),
  };
};
