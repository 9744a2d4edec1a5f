import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ConnectionInfo, matches } from "@svc/sdk";
import { PresenceEntry } from "@svc/sdk/health";
import { publishedViolations } from "../../published.ts";
import { createPresence, MAX_ENTRIES, PRESENCE_TTL_MS, type SharedEntry } from "../../../plugins/health/presence.ts";

const self = { host: "box", ip: "10.0.0.1", version: "1.2.3", platform: "linux 6", deviceFamily: "Linux" };
const principal = { id: "token", role: "operator", scopes: ["operator.read"], provenance: "token", epoch: 1 } as const;

/** A tracked connection; each test changes something. */
function connection(
  change: Partial<ConnectionInfo> = {},
  client: Partial<ConnectionInfo["client"]> = {},
): ConnectionInfo {
  return {
    id: "c1",
    remoteAddress: "10.0.0.9",
    local: false,
    client: { id: "panel", displayName: "Panel", version: "2", platform: "web", mode: "webchat", ...client },
    caps: [],
    device: "DEVICE",
    principal,
    ...change,
  };
}

function open() {
  const time = { now: 1_000 };
  const told: (readonly [string, Omit<SharedEntry, "key"> | undefined])[] = [];
  const elsewhere: SharedEntry[] = [];
  const presence = createPresence({
    self: () => self,
    clock: { now: () => time.now },
    share: (key, shared) => void told.push([key, shared]),
    others: () => elsewhere,
  });
  return { ...presence, time, told, elsewhere, others: () => presence.list().slice(1) };
}

describe("presence", () => {
  it("lists the gateway itself first, with the fields that clients read", () => {
    const [entry, ...others] = open().list();
    const text = "Gateway: box (10.0.0.1) · app 1.2.3 · mode gateway · reason self";
    assert.deepEqual(entry, { ...self, mode: "gateway", reason: "self", text, ts: 1_000 });
    assert.deepEqual(others, []);
  });

  it("lists a client with its own facts", () => {
    const { connected, others } = open();
    connected(connection());
    const [entry] = others();
    assert.deepEqual(entry, {
      host: "Panel",
      ip: "10.0.0.9",
      version: "2",
      platform: "web",
      mode: "webchat",
      deviceId: "DEVICE",
      instanceId: "DEVICE",
      reason: "connect",
      roles: ["operator"],
      scopes: ["operator.read"],
      text: "Node: Panel (10.0.0.9) · app 2 · mode webchat · reason connect",
      ts: 1_000,
    });
    assert.ok(matches(PresenceEntry, entry));
  });

  const untracked: [who: string, connection: ConnectionInfo][] = [
    ["a client of mode cli", connection({}, { mode: "cli" })],
    ["a connection that was never accepted", connection({ principal: undefined })],
    ["a connection without a client", connection({ client: undefined })],
  ];
  for (const [who, unknown] of untracked) {
    it(`does not track ${who} [W11.15]`, () => {
      const { connected, disconnected, others } = open();
      connected(unknown);
      assert.deepEqual(others(), []);
      assert.equal(disconnected(unknown), false);
    });
  }

  it("marks the close of a device's last connection", () => {
    const { connected, disconnected, others, time } = open();
    connected(connection());
    connected(connection({ id: "c2", device: "device" }));
    time.now += 10;
    assert.equal(disconnected(connection()), true);
    assert.equal(others()[0]?.reason, "connect");
    assert.equal(disconnected(connection({ id: "c2" })), true);
    assert.equal(others()[0]?.reason, "disconnect");
    assert.equal(others()[0]?.ts, 1_010);
    assert.equal(disconnected(connection()), false);
  });

  it("keeps old fields of a device and unites its roles and scopes", () => {
    const { connected, others } = open();
    connected(connection({}, { modelIdentifier: "Phone1,1" }));
    connected(connection({ id: "c2", principal: { ...principal, role: "node", scopes: ["x"] } }));
    const [entry, ...rest] = others();
    assert.deepEqual(rest, []);
    const united = { modelIdentifier: "Phone1,1", roles: ["operator", "node"], scopes: ["operator.read", "x"] };
    assert.deepEqual({ ...entry, ...united }, entry);
  });

  it("distinguishes devices, instances and connections, newest first, without the address of a local client [W11.15]", () => {
    const { connected, others, time } = open();
    connected(connection());
    time.now++;
    connected(connection({ id: "c2", device: undefined, local: true }, { instanceId: "i1" }));
    time.now++;
    connected(connection({ id: "c3", device: undefined }));
    const told = others().map(({ instanceId, ip }) => `${instanceId} ${ip}`);
    assert.deepEqual(told, ["undefined 10.0.0.9", "i1 undefined", "DEVICE 10.0.0.9"]);
  });

  it("lists the sessions that the connections of a client show, until they end", () => {
    const { connected, disconnected, watches, others, told } = open();
    connected(connection());
    connected(connection({ id: "c2" }));
    const shown = () => others()[0]?.watchedSessions;
    assert.equal(shown(), undefined);
    assert.equal(watches(connection(), ["a", "b"]), true);
    assert.equal(watches(connection({ id: "c2" }), ["b", "c"]), true);
    assert.deepEqual(shown(), ["a", "b", "c"]);
    assert.deepEqual(publishedViolations("PresenceEntry", others()[0]), []);
    assert.equal(watches(connection(), ["a", "b"]), false, "nothing changed");
    disconnected(connection());
    assert.deepEqual(shown(), ["b", "c"]);
    assert.deepEqual(told.at(-1)?.[1]?.entry.watchedSessions, ["b", "c"], "other gateways know");
    disconnected(connection({ id: "c2" }));
    assert.deepEqual([shown(), others()[0]?.reason], [undefined, "disconnect"]);
    assert.equal(watches(connection(), ["a"]), false, "a closed connection shows none");
  });

  it("drops clients five minutes after they left, and no connected one", () => {
    const { connected, disconnected, others, time } = open();
    connected(connection());
    connected(connection({ id: "c2", device: "stays" }));
    disconnected(connection());
    time.now += PRESENCE_TTL_MS;
    assert.equal(others().length, 2);
    time.now += 1;
    const [one, ...more] = others();
    assert.deepEqual([one?.deviceId, more], ["stays", []]);
  });

  it("lists at most 200, the newest", () => {
    const { connected, list, time } = open();
    for (let n = 0; n < 2_000; n++) {
      time.now++;
      connected(connection({ id: `c${n}`, device: `d${n}` }));
    }
    const all = list();
    assert.equal(all.length, MAX_ENTRIES);
    assert.equal(all[1]?.deviceId, "d1999");
  });

  it("has the clients of other gateways, until they are gone for 5 minutes, and tells the others about its own", () => {
    const { begin, connected, disconnected, list, elsewhere, told, time } = open();
    begin();
    connected(connection({ id: "c1", device: "HERE" }));
    const entry = { text: "there", ts: 900, reason: "connect" };
    elsewhere.push({ key: "there", entry, isConnected: true });
    elsewhere.push({ key: "here", entry: { ...entry, text: "the same device" }, isConnected: true });
    const texts = () => list().map(({ text, reason }) => (text === "there" ? text : reason));
    assert.deepEqual(texts(), ["self", "connect", "there"]);
    time.now += PRESENCE_TTL_MS + 1;
    assert.deepEqual(texts(), ["self", "connect", "there"]);
    elsewhere.splice(0, 1, { key: "there", entry: { ...entry, ts: time.now }, isConnected: false });
    time.now += 1;
    disconnected(connection({ id: "c1", device: "HERE" }));
    assert.deepEqual(texts(), ["self", "disconnect", "there"]);
    time.now += PRESENCE_TTL_MS + 1;
    elsewhere.pop();
    assert.deepEqual(texts(), ["self"]);
    connected(connection({ id: "c2", device: "OTHER" })); // it prunes
    assert.deepEqual(
      told.map(([key, shared]) => [key, shared?.isConnected]),
      [
        ["self", true],
        ["here", true],
        ["here", false],
        ["other", true],
        ["here", undefined],
      ],
    );
  });
});
