/** Sending the notifications of jobs, and the record when that fails. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError, type Live } from "@svc/sdk";
import type { Delivery } from "@svc/sdk/channels";
import type { OutboundFetch, OutboundRequest } from "@svc/sdk/web";
import { notify, type NotificationSources } from "../../../../plugins/cron/runs/notifications.ts";

const there = <T>(value: T | undefined): Live<T> => ({ get: () => value }) as Live<T>; // only `get` is used
const words = {
  id: "w",
  sessionKey: "agent:main:main",
  text: "hi",
  payload: { jobId: "j", action: "finished" as const },
};
const hook = { mode: "webhook", to: "https://hooks.example/x" } as const;

function sources(more: Partial<NotificationSources> = {}, status = 200) {
  const requests: OutboundRequest[] = [];
  const outbound: OutboundFetch = {
    async fetch(request) {
      requests.push(request);
      return { status, url: request.url, headers: {}, contentType: "", charset: undefined, body: new Uint8Array() };
    },
  };
  const all: NotificationSources = {
    delivery: there<Delivery>(undefined),
    outbound: there(outbound),
    secrets: there<never>(undefined),
    webhookToken: undefined,
    log: { warn: () => undefined },
    ...more,
  };
  return { requests, all };
}

describe("a notification for a webhook", () => {
  const reference = { source: "env", id: "HOOK", provider: "default" };

  it("carries the token that a reference resolves to", async () => {
    const asked: unknown[] = [];
    const secrets = there({
      async reveal(setting: unknown) {
        asked.push(setting);
        return "hush";
      },
    });
    const { requests, all } = sources({ webhookToken: reference, secrets });
    assert.deepEqual(await notify(words, hook, all), { delivered: true, deliveryStatus: "delivered" });
    assert.deepEqual(asked, [reference]);
    assert.equal(requests[0]?.headers?.["authorization"], "Bearer hush");
  });

  it("is not sent without its token", async () => {
    const { requests, all } = sources({ webhookToken: reference });
    const { deliveryStatus, deliveryError } = await notify(words, hook, all);
    assert.equal(deliveryStatus, "not-delivered");
    assert.match(deliveryError ?? "", /webhookToken is a reference/);
    assert.equal(requests.length, 0);
  });

  it("needs a plugin for outbound requests", async () => {
    const { all } = sources({ outbound: there<OutboundFetch>(undefined) });
    assert.match((await notify(words, hook, all)).deliveryError ?? "", /svc plugins why outbound/);
  });
});

describe("a notification for a channel", () => {
  const announce = { mode: "announce" } as const;

  it("that is disconnected may arrive later", async () => {
    const delivery = there({
      deliver: () => Promise.reject(new GatewayError("UNAVAILABLE", "not taken yet")),
    } as unknown as Delivery); // only this part is used
    const { all } = sources({ delivery });
    const told = await notify(words, announce, all);
    assert.deepEqual(told, { delivered: false, deliveryStatus: "unknown", deliveryError: "not taken yet" });
  });

  it("needs a plugin that delivers", async () => {
    const { all } = sources();
    assert.match((await notify(words, announce, all)).deliveryError ?? "", /svc plugins why channels/);
  });
});
