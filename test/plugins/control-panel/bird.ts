/**
 * A channel for tests of the panel, which logs in with a QR code. The code is renewed until `scanned`, a file beside the
 * configuration, exists. The token `bad` is refused by its network, a probe of the account `work` fails.
 */
import { access } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { accountsOf, channelConfig } from "@svc/kit/channels";
import { definePlugin, GatewayError, Type, unavailable } from "@svc/sdk";
import { Channel, defineChannel } from "@svc/sdk/channels";
import { GatewayInfo } from "@svc/sdk/gateway";

const FIELDS = {
  birdToken: Type.Optional(Type.String({ minLength: 1, sensitive: true, description: "session of the bird" })),
};

interface Settings {
  readonly birdToken: string;
}

/** How long a code is valid. */
const CODE_MS = 1_500;

export default definePlugin({
  id: "bird",
  api: "^1.0.0",
  section: "channels.bird",
  config: channelConfig(FIELDS),
  requires: { host: GatewayInfo },

  setup(gateway) {
    const { stateDir } = gateway.services.host;
    const read = ({ birdToken = "" }: { readonly birdToken?: string | undefined }) => ({
      isConfigured: birdToken !== "",
      settings: { birdToken },
    });
    const channel = defineChannel<Settings>({
      label: "Bird",
      capabilities: { chats: ["direct"], maxTextChars: 500, replies: true },
      accounts: accountsOf<typeof FIELDS, Settings>(gateway.config, read),
      target: (text) => text,
      async run({ report, receive, signal, settings }) {
        if (settings.birdToken === "bad") throw new GatewayError("NOT_LINKED", "logged out on the phone");
        report({ state: "connected" });
        const sender = { id: "eve-17", name: "Eve <img src=x onerror=alert(1)>" };
        await receive({ text: "hello", chat: { type: "direct", id: "eve" }, sender }).catch(() => undefined);
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      },
      send: async () => ({}),
      async probe({ accountId }) {
        if (accountId === "work") return unavailable("the bird does not sing");
        return { user: "blackbird", verified: true };
      },
      logout: async () => ({ cleared: true }),
      login: {
        start: () => step(1),
        async next({ state, signal }) {
          const number = Number(state);
          for (const end = Date.now() + CODE_MS; Date.now() < end; await sleep(50, undefined, { signal }))
            if (await exists(join(stateDir, "scanned")))
              return { kind: "done", message: "Linked as blackbird.", config: { birdToken: "linked" } };
          return step(number + 1);
        },
      },
    });
    gateway.extend(Channel, "bird", channel);
  },
});

function step(number: number) {
  const message = "Open Bird on the phone: Settings, Linked devices, Link a device.";
  return { kind: "show", message, qr: `bird:link/${number}`, expiresInMs: CODE_MS, state: number } as const;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
