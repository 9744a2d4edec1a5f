/** Refused starts, and the addresses a gateway listens on. Spec: protocol/frames-and-connect.md §1; http/auth.md §1-§3, §7.4. */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { once } from "node:events";
import { describe, it } from "node:test";
import { openRaw } from "../../raw-socket.ts";
import { portFrom } from "../../../host/settings.ts";
import { start } from "./scene.ts";

const limited = { timeout: 120_000 };
const proxy = (more: object = {}) => ({ mode: "trusted-proxy", trustedProxy: { userHeader: "x-user" }, ...more });

describe("a start is refused", limited, () => {
  const refused: [row: string, gateway: object, says: RegExp][] = [
    ["off loopback with a weak token", { bind: "lan", auth: { token: "abc" } }, /fewer than 16 characters/],
    ["off loopback in mode none [W1.12]", { bind: "lan", auth: { mode: "none" } }, /so anyone could use this gateway/],
    ["mode password without a password [W1.14 H2.8]", { auth: { mode: "password" } }, /gateway\.auth\.password/],
    [
      "mode trusted-proxy without its object [W1.15 H2.9]",
      { auth: { mode: "trusted-proxy" } },
      /trustedProxy is not set/,
    ],
    ["mode trusted-proxy without trustedProxies [W1.15 H2.10]", { auth: proxy() }, /gateway\.trustedProxies is empty/],
    [
      "mode trusted-proxy on loopback, proxies elsewhere [H2.11]",
      { auth: proxy(), trustedProxies: ["10.0.0.1"] },
      /add "127\.0\.0\.1" to gateway\.trustedProxies/,
    ],
    [
      "mode trusted-proxy, with a proxy on this machine but no secret",
      { auth: proxy(), trustedProxies: ["127.0.0.1"] },
      /set gateway\.auth\.trustedProxy\.secret/,
    ],
    ["bind custom without a host [H1.16]", { bind: "custom" }, /customBindHost is not set/],
    ["bind custom with a host that is not IPv4 [H1.16]", { bind: "custom", customBindHost: "::1" }, /an IPv4 address/],
    [
      "bind custom with an address of another machine [H3.5]",
      { bind: "custom", customBindHost: "192.0.2.1" },
      /^cannot listen on 192\.0\.2\.1 port \d+: .*\nNext: .*gateway\.customBindHost/,
    ],
    ["an unknown bind [H1.15]", { bind: "0.0.0.0" }, /bind/],
    ["an unknown mode [H1.1]", { auth: { mode: "open" } }, /mode/],
    ["an unknown key of gateway.auth [H1.23]", { auth: { key: 1 } }, /key/],
    [
      "a trustedProxy without userHeader [W1.15 H1.10]",
      { auth: proxy({ trustedProxy: {} }), trustedProxies: ["127.0.0.1"] },
      /userHeader/,
    ],
    ["a token that is not text [H1.2]", { auth: { token: { source: "env", id: "X" } } }, /token/],
  ];
  for (const [row, gateway, says] of refused)
    it(`start refused: ${row}`, (t) => assert.rejects(start(t, { gateway }), { message: says }));

  it("start refused: the port is in use, with the next step [H3.8]", async (t) => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    t.after(() => other.close());
    const { port } = other.address() as { port: number };
    const message = /is already in use.*\nNext: run svc gateway stop, or choose another port/;
    await assert.rejects(start(t, {}, { port }), { message });
  });
});

describe("a gateway listens", limited, () => {
  it("on loopback by default, in both address families if available [W1.9 H3.1]", async (t) => {
    const { gateway } = await start(t);
    assert.match(gateway.url, /^ws:\/\/127\.0\.0\.1:/);
    (await openRaw(`ws://127.0.0.1:${gateway.port}`)).ws.close();
    const six = createServer();
    const hasSix = await new Promise((resolve) => {
      six.once("error", () => resolve(false));
      six.listen(0, "::1", () => six.close(() => resolve(true)));
    });
    if (hasSix) (await openRaw(`ws://[::1]:${gateway.port}`)).ws.close();
  });

  it("on another address of this machine with bind custom [W1.10]", async (t) => {
    const { gateway } = await start(t, { gateway: { bind: "custom", customBindHost: "127.0.0.3" } });
    (await openRaw(`ws://127.0.0.3:${gateway.port}`)).ws.close();
  });

  it("off loopback with a token, and its own pages are allowed there without a list [W1.10 W8.12 H3.2]", async (t) => {
    const { gateway, attempt } = await start(t, { gateway: { bind: "lan", auth: { token: "right-0123456789" } } });
    assert.equal((await attempt({}, { origin: `http://localhost:${gateway.port}`, host: "gw.example" })).told, "ok");
    const foreign = await attempt({}, { origin: "http://localhost:1", host: "gw.example" });
    assert.match(String(foreign.answer?.error?.message), /^origin not allowed/);
  });
});

describe("the port", limited, () => {
  const rows: [row: string, env: Record<string, string>, port: number | undefined, is: number][] = [
    ["is 18789 by default [W1.11]", {}, undefined, 18_789],
    ["is gateway.port", {}, 7, 7],
    ["is SVC_GATEWAY_PORT before gateway.port [H1.17]", { SVC_GATEWAY_PORT: "8" }, 7, 8],
    ["is gateway.port when the variable is blank", { SVC_GATEWAY_PORT: " " }, 7, 7],
  ];
  for (const [row, env, port, is] of rows) {
    it(row, () => {
      const gateway = port === undefined ? {} : { port };
      assert.equal(portFrom(env, { gateway } as Parameters<typeof portFrom>[1]), is);
    });
  }

  it("is that of the command line before both [H1.17]", async (t) => {
    const { gateway } = await start(t, { gateway: { port: 7 } }, { port: 0, env: { SVC_GATEWAY_PORT: "8" } });
    assert.ok(gateway.port > 1_023);
  });
});
