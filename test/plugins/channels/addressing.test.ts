/** Destinations of texts whose address has more parts than a recipient. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Contribution } from "@svc/sdk";
import type { Channel, DeliveryRequest } from "@svc/sdk/channels";
import type { SessionEntry } from "@svc/sdk/sessions";
import { chatTypeOf, destinationOf } from "../../../plugins/channels/outbox/addressing.ts";

const value = {
  label: "Pigeon",
  capabilities: { chats: ["direct", "group"], maxTextChars: 9 },
  accounts: [{ id: "default" }, { id: "work" }],
  target: (text: string) => text,
  chatType: (to: string) => (to.startsWith("#") ? "group" : "direct"),
} as unknown as Channel; // the parts addresses need
const pigeon: Contribution<Channel> = { id: "pigeon", plugin: "pigeon", value };
const channels = {
  configured: () => [pigeon],
  channel: () => pigeon,
  channelId: (name: string) => name,
  missing: (name: string) => `unknown channel "${name}"`,
  account(_channel: unknown, id?: string) {
    const account = value.accounts.find((one) => one.id === id);
    return account && { contribution: pigeon, account, run: undefined };
  },
  call: <R>(contribution: Contribution<Channel>, work: (channel: Channel) => R) => work(contribution.value),
};
const entry: SessionEntry = {
  sessionId: "s",
  updatedAt: 0,
  deliveryContext: { channel: "pigeon", to: "ann", accountId: "default", threadId: "t1" },
};
type Asked = Pick<DeliveryRequest, "channel" | "to" | "accountId" | "keepsThread">;

describe("an address", () => {
  const cases: [what: string, request: Asked, is: object | RegExp][] = [
    ["the thread is kept", { channel: "last" }, { accountId: "default", to: "ann", threadId: "t1" }],
    ["or not", { channel: "last", keepsThread: false }, { accountId: "default", to: "ann" }],
    ["of another account", { channel: "pigeon", to: "bob", accountId: "work" }, { accountId: "work", to: "bob" }],
    ["of no account", { channel: "pigeon", to: "bob", accountId: "nobody" }, /no account "nobody"/],
  ];
  for (const [what, request, is] of cases)
    it(what, async () => {
      const found = await destinationOf(request, entry, channels);
      if (is instanceof RegExp) return assert.match(typeof found === "string" ? found : "", is);
      assert.deepEqual(found, { contribution: pigeon, ...is });
    });

  it("has a kind", async () => {
    assert.equal(await chatTypeOf(pigeon, "#all", channels), "group");
    assert.equal(await chatTypeOf(pigeon, "ann", channels), "direct");
  });
});
