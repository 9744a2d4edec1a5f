/** Surroundings of webhook runs: a channel, a tool, and the main session. */
import { definePlugin, type Plugin, Strict } from "@svc/sdk";
import { Delivery, type DeliveryOutcome, type DeliveryRequest } from "@svc/sdk/channels";
import { defineTool, Tool } from "@svc/sdk/tools";
import type { WebhookJob } from "@svc/sdk/webhooks";
import { type Gateway, hookPrincipal, MAIN } from "../webhook-scene.ts";

export const KEY = "agent:main:hook:1234";
export const hookJob: WebhookJob = {
  runId: "r1",
  attempt: 1,
  mapping: "agent",
  params: {},
  wrapped: true,
  acceptedAt: 1,
  principal: hookPrincipal,
};
export const hookParams = {
  message: "m",
  name: "Build",
  agentId: "main",
  sessionKey: "k",
  wakeMode: "next-heartbeat",
  channel: "last",
} as const;
/** Disables wakes, so that the model server only gets requests of the runs. */
export const calm = { message: "look at it", name: "Build", wakeMode: "next-heartbeat", deliver: false };

/** Waiting events of the main session. */
export const told = async ({ events }: Gateway) => (await events.waiting(MAIN)).map(({ text }) => text);

/** Delivers to channel `pigeon`; `answers` in turn, then successes. */
export function pigeonPost(...answers: (DeliveryOutcome | Error)[]) {
  const requests: DeliveryRequest[] = [];
  const plugin = definePlugin({
    id: "pigeon-post",
    api: "^1.0.0",
    provides: [Delivery],
    setup: (gateway) =>
      gateway.provide(Delivery, {
        channels: () => ["pigeon"],
        configured: () => [],
        takesVoice: () => false,
        channelId: (name) => (name === "pigeon" ? name : undefined),
        sessionOf: async () => "agent:main:main",
        heartbeats: () => ({ showOk: false, showAlerts: true, useIndicator: true }),
        async deliver(request) {
          requests.push(request);
          const answer = answers.shift() ?? { delivered: true, channel: "pigeon", to: request.to ?? "someone" };
          if (answer instanceof Error) throw answer;
          return answer;
        },
      }),
  });
  return { plugin, requests };
}

/** A tool that counts its calls. */
export function bell() {
  const rung: string[] = [];
  const tool = defineTool({
    description: "Rings",
    scope: "operator.write",
    effects: ["reads"],
    params: Strict({}),
    run: (_params, { call }) => {
      rung.push(call.runId);
      return "rung";
    },
  });
  const plugin: Plugin = definePlugin({
    id: "bell",
    api: "^1.0.0",
    setup: (gateway) => gateway.extend(Tool, "ring", tool),
  });
  return { plugin, rung };
}
