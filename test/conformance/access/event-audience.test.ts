/** Every kind of event x every possible receiver, through the broadcaster of the host. Spec: protocol/events.md §1; design/security.md. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type EventSpec, type Scope, SCOPES } from "@svc/sdk";
import * as agents from "@svc/sdk/agents";
import * as approvals from "@svc/sdk/approvals";
import * as chat from "@svc/sdk/chat";
import * as cron from "@svc/sdk/cron";
import * as devices from "@svc/sdk/devices";
import * as health from "@svc/sdk/health";
import * as heartbeat from "@svc/sdk/heartbeat";
import * as nodes from "@svc/sdk/nodes";
import * as protocol from "@svc/sdk/protocol";
import * as sessions from "@svc/sdk/sessions";
import * as talk from "@svc/sdk/talk";
import { testGateway } from "@svc/sdk/testing";
import * as update from "@svc/sdk/update";
import { Broadcaster, type Receiver } from "../../../host/net/ws/broadcast.ts";

/** The audience when the event names no connection: everyone, or operators with this scope. */
type Hearers = "all" | Scope;

/** Written by hand: an event that is missing here fails the test. `formerly`: `gateway.compat.chatEventsToAll` sends it to all. */
const AUDIENCES: Readonly<Record<string, readonly [hearers: Hearers, formerly?: "formerly"]>> = {
  "connect.challenge": ["all"],
  agent: ["operator.read", "formerly"],
  chat: ["operator.read", "formerly"],
  "session.message": ["operator.read"], // only ever sent to connections that asked for it
  "sessions.changed": ["operator.read"], // likewise
  presence: ["all"],
  tick: ["all"],
  shutdown: ["all"],
  health: ["all"],
  heartbeat: ["operator.read", "formerly"],
  cron: ["operator.read", "formerly"],
  "node.pair.requested": ["operator.pairing"],
  "node.pair.resolved": ["operator.pairing"],
  "node.invoke.request": ["all"], // only ever sent to one node by name
  "device.pair.requested": ["operator.pairing"],
  "device.pair.resolved": ["operator.pairing"],
  "exec.approval.requested": ["operator.approvals"],
  "exec.approval.resolved": ["operator.approvals"],
  "update.available": ["all"],
  "talk.mode": ["all"],
  "voicewake.changed": ["all"],
};

const MODULES = [agents, approvals, chat, cron, devices, health, heartbeat, nodes, protocol, sessions, talk, update];
const isEvent = (value: unknown): value is EventSpec =>
  typeof value === "object" && value !== null && "payload" in value && "summary" in value && "name" in value;
const EVENTS = MODULES.flatMap((module) => Object.values(module as Record<string, unknown>).filter(isEvent));

/** Operators with each single scope and with none, and a node that holds all. */
const PEOPLE = [undefined, ...SCOPES].map((scope) => ({ role: "operator" as const, scopes: scope ? [scope] : [] }));
const NODE = { role: "node" as const, scopes: [...SCOPES] };
const EVERYBODY = [...PEOPLE, NODE];

/** What a scope covers, implemented independently. */
const WORTH: Readonly<Record<string, readonly string[]>> = {
  "operator.admin": SCOPES,
  "operator.write": ["operator.write", "operator.read"],
};

function mayHear([hearers, formerly]: (typeof AUDIENCES)[string], toAll: boolean, isNamed: boolean) {
  return ({ role, scopes }: Pick<Receiver, "role" | "scopes">) => {
    if (hearers === "all" || (formerly && toAll)) return true;
    if (role === "node") return isNamed && formerly !== undefined;
    return scopes.some((scope) => (WORTH[scope] ?? [scope]).includes(hearers));
  };
}

describe("the audience of an event", () => {
  it("is listed for every event of the full bundle, and for no other", async (t) => {
    assert.deepEqual(EVENTS.map(({ name }) => name).toSorted(), Object.keys(AUDIENCES).toSorted());
    const { client } = await testGateway(t);
    const declared = client.hello?.features.events ?? [];
    for (const name of declared) assert.ok(AUDIENCES[name], `${name} has a row`);
  });

  for (const toAll of [false, true])
    for (const isNamed of [false, true])
      for (const event of EVENTS)
        it(`${event.name}${isNamed ? ", sent to all by name" : ""}${toAll ? ", as older gateways did" : ""}`, () => {
          const broadcaster = new Broadcaster({ formerlyForAll: () => toAll });
          const heard = new Set<number>();
          EVERYBODY.forEach((one, index) =>
            broadcaster.add({
              ...one,
              id: String(index),
              generation: protocol.OLDEST,
              resumes: false,
              deliver: () => void heard.add(index),
            }),
          );
          const connections = isNamed ? { connections: EVERYBODY.map((_, index) => String(index)) } : {};
          broadcaster.publish(event, {}, connections);
          const hears = mayHear(AUDIENCES[event.name] ?? assert.fail(event.name), toAll, isNamed);
          EVERYBODY.forEach((one, index) =>
            assert.equal(heard.has(index), hears(one), `${one.role} ${one.scopes.join(" ") || "without a scope"}`),
          );
        });
});
