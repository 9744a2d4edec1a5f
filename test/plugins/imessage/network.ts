/** The network for the tests that all channels share. */
import type { StartNetwork } from "../channels/test-network.ts";
import { ANN, PASSWORD, startServer } from "./server.ts";

export const network: StartNetwork = async (t) => {
  const server = await startServer(t);
  return {
    id: "imessage",
    settings: { callbackUrl: "http://gateway.invalid", pollMs: 500 },
    login: { serverUrl: server.url, password: PASSWORD },
    wrong: { serverUrl: server.url, password: "wrong" },
    meets: (gateway) => void (server.state.gateway = gateway),
    person: ANN,
    says: (text) => void server.says(text),
    sends(text, totalBytes) {
      const attachments = [{ guid: "BIG", transferName: "big.bin", mimeType: "application/octet-stream", totalBytes }];
      server.says(text, { attachments });
    },
    heard: server.heard,
    // The server refuses a repetition while the first request is in progress.
    sentIds: () => server.of(/message\/text$/).map(({ body }) => body["tempGuid"]),
    falls: () => void (server.state.isSilent = true),
    silentMs: 15_000,
  };
};
