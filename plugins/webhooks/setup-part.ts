/** Part of the guided setup: turns webhooks on, with a token of their own. */
import { randomBytes } from "node:crypto";
import type { GatewayInfo } from "@svc/sdk/gateway";
import type { SetupPart } from "@svc/sdk/wizard";
import type { Webhooks } from "@svc/sdk/webhooks";

/** Choice: random bytes of a new token. */
const TOKEN_BYTES = 24;

export interface WebhookPartSources {
  readonly engine: Pick<Webhooks, "path">;
  readonly host: Pick<GatewayInfo, "url" | "configPath">;
}

export function createWebhookPart({ engine, host }: WebhookPartSources): Pick<SetupPart, "start" | "next"> {
  return {
    async start({ config }) {
      const message = "Receive webhooks, so that other programs and services start runs of the agent?";
      return { ask: { kind: "confirm", message, initial: hooksIn(config).enabled === true } };
    },
    async next({ config, answer }) {
      const { enabled = false, token } = hooksIn(config);
      const wanted = answer === true;
      if (!wanted)
        return {
          done: true,
          ...(enabled === false ? {} : { message: "Webhooks: off.", config: { hooks: { enabled: false } } }),
        };
      const address = `${(host.url ?? "").replace(/^ws/, "http")}${engine.path}`;
      const message = `Webhooks: POST ${address}/agent with "Authorization: Bearer <token>". The token is hooks.token in ${host.configPath}.`;
      if (enabled === true && token !== undefined) return { done: true, message };
      const fresh = token === undefined ? { token: randomBytes(TOKEN_BYTES).toString("hex") } : {};
      return { done: true, message, config: { hooks: { enabled: true, ...fresh } } };
    },
  };
}

function hooksIn({ hooks }: Readonly<Record<string, unknown>>): {
  readonly enabled?: unknown;
  readonly token?: unknown;
} {
  return Object(hooks) as object;
}
