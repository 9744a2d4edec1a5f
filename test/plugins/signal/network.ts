/** The network for the tests that all channels share. */
import type { StartNetwork } from "../channels/test-network.ts";
import { ADA, LINK, OWN, startServer } from "./server.ts";

export const network: StartNetwork = async (t) => {
  const server = await startServer(t);
  return {
    id: "signal",
    settings: { silentMs: 500 },
    login: { url: server.url },
    wrong: { url: server.url, account: "0151 1" },
    written: { url: server.url, account: OWN },
    person: ADA,
    scans(code) {
      if (code === LINK || code.startsWith("data:")) server.scans();
    },
    says: (text) => void server.says(text),
    sends(text, size) {
      const file = { id: "big.bin", contentType: "application/octet-stream", filename: "big.bin", size };
      server.says(text, { attachments: [file] });
    },
    heard: () => server.of("send").map(({ message }) => String(message)),
    falls: () => void (server.state.isDeaf = true),
  };
};
