import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Principal } from "@svc/sdk";
import { array, assert as check, boolean, constantFrom, oneof, property, record, subarray } from "fast-check";
import type { AuthSettings } from "../../../host/auth/mode.ts";
import { Authority, narrow, pluginPrincipal, requestedScopes, revocableDevice } from "../../../host/auth/principal.ts";
import { nothingEnded } from "../../../host/auth/ended.ts";

const token: AuthSettings = { mode: "token", token: "t" };
const proxy = (changes: object = {}): AuthSettings => ({
  mode: "trusted-proxy",
  trustedProxy: { userHeader: "x-user", requiredHeaders: [], allowUsers: [], trustedProxies: ["10.0.0.1"], ...changes },
});

describe("requested scopes", () => {
  const rows: [why: string, asked: string[] | undefined, got: string[]][] = [
    ["none", undefined, []],
    ["an empty list", [], []],
    ["kept in order", ["operator.write", "operator.read"], ["operator.write", "operator.read"]],
    ["each once", ["operator.read", "operator.read"], ["operator.read"]],
    ["the alias", ["admin"], ["operator.admin"]],
    ["the alias and its meaning", ["admin", "operator.admin"], ["operator.admin"]],
    ["unknown ones are kept", ["x.y"], ["x.y"]],
    [
      "names that every object has are ordinary texts",
      ["constructor", "toString", "__proto__"],
      ["constructor", "toString", "__proto__"],
    ],
  ];
  for (const [why, asked, got] of rows) it(why, () => assert.deepEqual(requestedScopes(asked), got));
});

describe("a principal", () => {
  it("of the shared secret has the requested scopes and its provenance", () => {
    for (const mode of ["token", "password", "none"] as const) {
      const { epoch, ...rest } = new Authority({ mode }).sharedPrincipal("operator", ["operator.read"]);
      assert.deepEqual(rest, { id: mode, role: "operator", scopes: ["operator.read"], provenance: mode });
      assert.ok(Number.isInteger(epoch));
    }
  });

  it("of a trusted proxy is its user", () => {
    const { epoch: _, ...rest } = new Authority(proxy()).proxyPrincipal("alice", "operator", ["operator.read"]);
    const expected = {
      id: "trusted-proxy:alice",
      role: "operator",
      scopes: ["operator.read"],
      provenance: "trusted-proxy",
    };
    assert.deepEqual(rest, expected);
    assert.throws(() => new Authority(proxy()).sharedPrincipal("operator", []), /mint with proxyPrincipal/);
  });

  const vouched: [why: string, role: Principal["role"], vouched: string[], asked: string[], held: string[]][] = [
    ["both", "operator", ["operator.read"], ["operator.read"], ["operator.read"]],
    ["less than vouched", "operator", ["operator.read", "operator.write"], ["operator.read"], ["operator.read"]],
    ["less than requested", "operator", ["operator.read"], ["operator.read", "operator.write"], ["operator.read"]],
    ["nothing in common", "operator", ["operator.read"], ["operator.admin"], []],
    ["nothing requested", "operator", ["operator.admin"], [], []],
    [
      "admin covers what operators can hold",
      "operator",
      ["operator.admin"],
      ["operator.pairing", "x.y"],
      ["operator.pairing"],
    ],
    ["write covers read", "operator", ["operator.write"], ["operator.read", "operator.admin"], ["operator.read"]],
    ["nodes by name only", "node", ["operator.admin", "x"], ["operator.read", "x"], ["x"]],
  ];
  for (const [why, role, scopes, asked, held] of vouched) {
    it(`that a plugin vouched for never has more scopes than requested or vouched: ${why}`, () => {
      const { epoch: _, ...rest } = new Authority(token).vouchedPrincipal("device:x", role, scopes, asked);
      assert.deepEqual(rest, { id: "device:x", role, scopes: held, provenance: "device" });
    });
  }

  const ids = [
    "token",
    "Password",
    "none",
    "trusted-proxy",
    "trusted-proxy:alice",
    "plugin:x",
    "PLUGIN:x",
    "webhook:1",
    "",
    " ",
    " x",
    "x\n",
    "x\u0000",
    "x".repeat(257),
  ];
  for (const id of ids) {
    it(`that a plugin vouched for cannot take a reserved or malformed id: ${JSON.stringify(id.slice(0, 20))}`, () =>
      assert.throws(() => new Authority(token).vouchedPrincipal(id, "operator", [], []), /use an id like device:<id>/));
  }

  it("of a plugin has exactly the scopes its package requests", () => {
    const { epoch: _, ...rest } = pluginPrincipal("notes", ["operator.read"]);
    assert.deepEqual(rest, { id: "plugin:notes", role: "operator", scopes: ["operator.read"], provenance: "plugin" });
    assert.deepEqual(
      new Authority(token).pluginPrincipal("notes", ["operator.read"]),
      pluginPrincipal("notes", ["operator.read"]),
    );
  });

  it("cannot gain scopes afterwards, not even through the list it was minted with", () => {
    const scopes = ["operator.read"];
    const authority = new Authority(token);
    const made: Principal[] = [
      authority.sharedPrincipal("operator", scopes),
      authority.proxyPrincipal("alice", "operator", scopes),
      authority.vouchedPrincipal("x", "operator", scopes, scopes),
      pluginPrincipal("x", scopes),
      narrow(authority.sharedPrincipal("operator", scopes), scopes),
    ];
    scopes.push("operator.admin");
    for (const principal of made) {
      assert.deepEqual(principal.scopes, ["operator.read"]);
      assert.ok(Object.isFrozen(principal));
      assert.throws(() => (principal.scopes as string[]).push("operator.admin"), TypeError);
    }
  });

  const narrowed: [why: string, held: string[], to: string[], left: string[]][] = [
    ["to less", ["operator.read", "operator.write"], ["operator.read"], ["operator.read"]],
    ["to what is covered", ["operator.admin"], ["operator.read"], ["operator.read"]],
    ["to nothing", ["operator.admin"], [], []],
    ["not to more", ["operator.read"], ["operator.admin", "operator.read"], ["operator.read"]],
    ["to nothing it does not hold", ["operator.read"], ["operator.write"], []],
  ];
  for (const [why, held, to, left] of narrowed) {
    it(`narrows ${why} and stays the same otherwise`, () => {
      const source = new Authority(token).sharedPrincipal("operator", held);
      assert.deepEqual(narrow(source, to), { ...source, scopes: left });
    });
  }
});

describe("the credential of a principal", () => {
  const all = (authority: Authority) => ({
    shared: authority.sharedPrincipal("operator", []),
    proxied: authority.proxyPrincipal("alice", "operator", []),
    device: authority.vouchedPrincipal("device:1", "node", [], []),
    other: authority.vouchedPrincipal("device:2", "node", [], []),
    plugin: authority.pluginPrincipal("x", []),
  });
  const live = (authority: Authority, made: Record<string, Principal>) =>
    Object.keys(made).filter((name) => authority.isLive(made[name] as Principal));

  it("is valid from the start", () => {
    const authority = new Authority(token);
    assert.deepEqual(live(authority, all(authority)), ["shared", "proxied", "device", "other", "plugin"]);
  });

  const changes: [why: string, from: AuthSettings, to: AuthSettings][] = [
    ["another token", token, { mode: "token", token: "u" }],
    ["another mode", token, { mode: "none" }],
    ["another password", { mode: "password", password: "p" }, { mode: "password", password: "q" }],
    ["another user header", proxy(), proxy({ userHeader: "x-other" })],
    ["another required header", proxy(), proxy({ requiredHeaders: ["x"] })],
    ["other users", proxy(), proxy({ allowUsers: ["bob"] })],
    ["other proxies", proxy(), proxy({ trustedProxies: ["10.0.0.2"] })],
  ];
  for (const [why, from, to] of changes) {
    it(`${why} ends every shared principal, and no other`, () => {
      const authority = new Authority(from);
      const made = { ...all(new Authority(token)) };
      assert.deepEqual(authority.replace(to), ["token", "password", "none", "trusted-proxy"]);
      assert.deepEqual(live(authority, made), ["device", "other", "plugin"]);
      assert.equal(authority.settings, to);
      assert.ok(authority.isLive(authority.proxyPrincipal("alice", "operator", [])));
    });
  }

  it("that is set again unchanged ends nothing, and stays the same object", () => {
    for (const settings of [token, proxy()]) {
      const authority = new Authority(settings);
      const made = all(new Authority(token));
      assert.deepEqual(authority.replace(structuredClone(settings)), []);
      assert.equal(authority.settings, settings);
      assert.equal(live(authority, made).length, 5);
    }
  });

  it("is restored: dead principals stay dead", () => {
    const authority = new Authority(token);
    const before = authority.sharedPrincipal("operator", []);
    authority.replace({ mode: "none" });
    authority.replace(token);
    assert.equal(authority.isLive(before), false);
  });

  it("is revoked for one id, and a principal minted later is live", () => {
    const authority = new Authority(token);
    const made = all(authority);
    authority.revoke("device:1");
    assert.deepEqual(live(authority, made), ["shared", "proxied", "other", "plugin"]);
    const again = authority.vouchedPrincipal("device:1", "node", [], []);
    assert.ok(authority.isLive(again));
    authority.revoke("device:1");
    assert.equal(authority.isLive(again), false);
  });

  it("is revoked for one user of a proxy, or for every client with the secret; plugins stay live", () => {
    const authority = new Authority(token);
    const made = all(authority);
    authority.revoke("trusted-proxy:alice");
    authority.revoke("plugin:x");
    assert.deepEqual(live(authority, made), ["shared", "device", "other", "plugin"]);
    authority.revoke("token");
    assert.deepEqual(live(authority, made), ["device", "other", "plugin"]);
    assert.ok(authority.isLive(authority.sharedPrincipal("operator", [])));
  });

  it("with a proven device ends with that device, regardless of the credential; others stay live", () => {
    const authority = new Authority(token);
    const one = { device: "d1" };
    const made = {
      shared: authority.sharedPrincipal("operator", [], one),
      proxied: authority.proxyPrincipal("alice", "operator", [], one),
      local: authority.localPrincipal([], one),
      operator: authority.vouchedPrincipal("device:d1:operator", "operator", [], [], one),
      node: authority.vouchedPrincipal("device:d1:node", "node", [], [], one),
      other: authority.vouchedPrincipal("device:d2:node", "node", [], [], { device: "d2" }),
      none: authority.sharedPrincipal("operator", []),
      derived: narrow(authority.sharedPrincipal("operator", [], one), []),
    };
    authority.revoke("device:d1:operator");
    assert.deepEqual(live(authority, made), ["shared", "proxied", "local", "node", "other", "none", "derived"]);
    authority.revoke(revocableDevice("d1"));
    assert.deepEqual(live(authority, made), ["other", "none"]);
    assert.ok(authority.isLive(authority.sharedPrincipal("operator", [], one)), "it may come back");
  });

  it("whose device was revoked during the check is dead from the start", () => {
    const authority = new Authority(token);
    const since = authority.epoch;
    authority.revoke(revocableDevice("d1"));
    assert.equal(authority.isLive(authority.sharedPrincipal("operator", [], { since, device: "d1" })), false);
    assert.ok(authority.isLive(authority.sharedPrincipal("operator", [], { since, device: "d2" })));
  });

  it("ends with what another gateway on the same state has revoked, before or after it is known here", () => {
    const [one, other] = [new Authority(token, nothingEnded(50)), new Authority(token, nothingEnded(2_000))];
    const vouch = (by: Authority, id: string) =>
      by.vouchedPrincipal(`device:${id}`, "operator", [], [], { device: id });
    assert.equal(one.merge(other.ended), false);
    assert.equal(one.epoch, 2_000);
    const made = { d1: vouch(one, "d1"), d2: vouch(other, "d2"), shared: one.sharedPrincipal("operator", []) };
    other.revoke("device:d1");
    other.revoke(revocableDevice("d2"));
    assert.equal(one.merge(other.ended), true);
    assert.deepEqual(live(one, made), ["shared"]);
    assert.equal(one.merge(other.ended), false, "there is nothing new");
    assert.ok(one.isLive(vouch(one, "d1")), "it may come back");
    one.revoke("device:d3");
    assert.equal(other.merge(one.ended), true);
    other.replace({ mode: "none" });
    assert.equal(one.merge(other.ended), false, "each gateway has its own shared credential");
    assert.ok(one.isLive(made.shared));
  });

  it("does not end because another gateway has lost its record", () => {
    const authority = new Authority(token, nothingEnded(50));
    const made = { shared: authority.sharedPrincipal("operator", []) };
    assert.equal(authority.merge({ ...nothingEnded(2_000), sharedSince: 2_000, unknownBefore: 2_000 }), false);
    assert.deepEqual(live(authority, made), ["shared"]);
  });

  it("that a plugin vouched for because of the shared credential ends with that", () => {
    const authority = new Authority(token);
    const made = {
      onShared: authority.vouchedPrincipal("device:1:node", "node", [], [], { onShared: true }),
      own: authority.vouchedPrincipal("device:2:node", "node", [], []),
    };
    const derived = narrow(made.onShared, []);
    authority.replace({ mode: "none" });
    assert.deepEqual(live(authority, { ...made, derived }), ["own"]);
  });

  it("from the key in the state directory survives a change of the shared credential", () => {
    const authority = new Authority(token);
    const local = authority.localPrincipal(["operator.admin"]);
    authority.replace({ mode: "none" });
    assert.ok(authority.isLive(local));
    assert.deepEqual([local.id, local.role, local.provenance], ["local", "operator", "local"]);
  });

  it("dies with its source", () => {
    const authority = new Authority(token);
    const { shared, device } = all(authority);
    const derived = { shared: narrow(shared, []), device: narrow(device, []) };
    authority.replace({ mode: "none" });
    assert.deepEqual(live(authority, derived), ["device"]);
    authority.revoke("device:1");
    assert.deepEqual(live(authority, derived), []);
  });

  it("that changes between its check and the minting is dead from the start", () => {
    const authority = new Authority(token);
    const since = authority.epoch;
    authority.revoke("device:1");
    authority.replace({ mode: "none" });
    assert.equal(authority.isLive(authority.vouchedPrincipal("device:1", "node", [], [], { since })), false);
    assert.ok(authority.isLive(authority.vouchedPrincipal("device:2", "node", [], [], { since })));
    assert.equal(authority.isLive(authority.sharedPrincipal("operator", [], { since })), false);
    assert.equal(authority.isLive(authority.proxyPrincipal("a", "operator", [], { since })), false);
  });

  it("is never valid again once it was revoked or replaced, in any order of events", () => {
    type Step = { mint: string } | { revoke: string } | { replace: string } | { narrow: boolean };
    const id = constantFrom("device:1", "device:2", "token");
    const step = oneof(
      record({ mint: id }),
      record({ revoke: id }),
      record({ replace: constantFrom("a", "b") }),
      record({ narrow: boolean() }),
    );
    check(
      property(array(step, { maxLength: 40 }), (steps: Step[]) => {
        const authority = new Authority({ mode: "token", token: "a" });
        let made: { principal: Principal; dead: boolean }[] = [];
        let current = "a";
        for (const event of steps) {
          if ("mint" in event) {
            const shared = event.mint === "token";
            const principal = shared
              ? authority.sharedPrincipal("operator", [])
              : authority.vouchedPrincipal(event.mint, "operator", [], []);
            made.push({ principal, dead: false });
          } else if ("revoke" in event) {
            authority.revoke(event.revoke);
            made = made.map((one) => (one.principal.id === event.revoke ? { ...one, dead: true } : one));
          } else if ("replace" in event) {
            authority.replace({ mode: "token", token: event.replace });
            if (event.replace !== current)
              made = made.map((one) => (one.principal.provenance === "token" ? { ...one, dead: true } : one));
            current = event.replace;
          } else
            made = [...made, ...made.map(({ principal, dead }) => ({ principal: narrow(principal, []), dead }))].slice(
              0,
              50,
            );
          for (const { principal, dead } of made) assert.equal(authority.isLive(principal), !dead);
        }
      }),
    );
  });

  it("narrowing only removes scopes", () => {
    const scopes = ["operator.read", "operator.write", "operator.admin", "operator.pairing", "x.y"];
    check(
      property(subarray(scopes), subarray(scopes), (held, wanted) => {
        const source = new Authority(token).sharedPrincipal("operator", held);
        const covers = (scope: string) =>
          held.includes(scope) ||
          (scope !== "x.y" && held.includes("operator.admin")) ||
          (scope === "operator.read" && held.includes("operator.write"));
        for (const scope of narrow(source, wanted).scopes) assert.ok(wanted.includes(scope) && covers(scope));
      }),
    );
  });
});
