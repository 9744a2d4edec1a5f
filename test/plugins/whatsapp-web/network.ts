/** The network for the tests that all channels share. */
import type { StartNetwork } from "../channels/test-network.ts";
import { createPerson } from "./person.ts";
import { readQr } from "./qr.ts";
import { ADA, OWN } from "./scene.ts";
import { startServer } from "./server.ts";

export const network: StartNetwork = async (t) => {
  const server = await startServer(t);
  const ada = await createPerson(t, server, ADA);
  return {
    id: "whatsapp",
    plugins: ["whatsapp", "whatsapp-web"],
    settings: { transport: "web", webUrl: server.url, pingMs: 500 },
    login: {},
    wrong: { phone: "0151 1" },
    written: { number: OWN },
    keepsLogin: true,
    scans: (code) => server.scans(code.startsWith("data:") ? readQr(code) : code, OWN),
    person: ADA,
    says: (text) => void ada.sends(OWN, { text }),
    sends(text, fileLength) {
      const file = { fileName: "big.bin", fileLength, directPath: "/big", mediaKey: new Uint8Array(32) };
      const documentMessage = { ...file, caption: text };
      void ada.socket.client.relayMessage(`${OWN}@s.whatsapp.net`, { documentMessage }, {});
    },
    heard: ada.heard,
    falls: () => void (server.state.isDeaf = true),
    silentMs: 8_000, // the client library waits 5 s after a ping
  };
};
