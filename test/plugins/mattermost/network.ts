/** The network for the tests that all channels share. */
import { lastWith, type StartNetwork } from "../channels/test-network.ts";
import { ADA, DIRECT, startServer, TOKEN } from "./server.ts";

export const network: StartNetwork = async (t) => {
  const server = await startServer(t);
  return {
    id: "mattermost",
    settings: { callbackUrl: "http://gateway.invalid" },
    login: { baseUrl: server.url, botToken: TOKEN },
    wrong: { baseUrl: server.url, botToken: "wrong" },
    person: ADA,
    says: (text) => void server.says(text, { channel_id: DIRECT }),
    sends(text, size) {
      const file = { id: "f".repeat(26), name: "big.bin", mime_type: "application/octet-stream", size };
      server.says(text, { channel_id: DIRECT, metadata: { files: [file] } });
    },
    async presses(label, gateway) {
      const { url, context } = Object(lastWith("name", label, server.sent(/^POST \/posts$/))["integration"]);
      const press = { user_id: ADA, channel_id: DIRECT, trigger_id: "t1", context };
      await fetch(gateway + new URL(url).pathname, { method: "POST", body: JSON.stringify(press) });
    },
    heard: () => server.sent(/^(?:POST \/posts|PUT \/posts\/\w+\/patch)$/).map((body) => String(Object(body).message)),
    sentIds: () => server.sent(/^POST \/posts$/).map((body) => Object(body).pending_post_id as unknown),
    falls: () => void (server.state.isDeaf = server.state.isSilent = true),
  };
};
