/** Addresses of the control panel, and the programs that open them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { linkTo, pageOf, placeIn, tunnelTo, wayAround } from "../../../plugins/control-panel/cli-link.ts";
import { type Machine, openersOf } from "../../../plugins/control-panel/cli-open.ts";

describe("the address of the panel", () => {
  const places: [controlUi: unknown, isServed: boolean, basePath: string][] = [
    [undefined, true, ""],
    [{}, true, ""],
    [{ enabled: true }, true, ""],
    [{ enabled: false }, false, ""],
    [{ basePath: "/panel" }, true, "/panel"],
    [{ basePath: " panel/ " }, true, "/panel"],
    [{ basePath: "/" }, true, ""],
    [{ basePath: "  " }, true, ""],
    [{ basePath: "/a/b/" }, true, "/a/b"],
    [{ basePath: 7 }, true, ""],
    ["odd", true, ""],
  ];
  for (const [controlUi, isServed, basePath] of places)
    it(`with ${JSON.stringify(controlUi)}`, () => {
      assert.deepEqual(placeIn({ gateway: { controlUi } }), { isServed, basePath });
    });

  it("is at the default place if there is no configuration to read", () => {
    for (const config of [undefined, null, "text", {}, { gateway: null }])
      assert.deepEqual(placeIn(config), { isServed: true, basePath: "" });
  });

  const pages: [url: string, basePath: string, page: string][] = [
    ["ws://127.0.0.1:18789", "", "http://127.0.0.1:18789/"],
    ["wss://gateway.example/socket?x=1", "/panel", "https://gateway.example/panel/"],
    ["http://[::1]:18789", "", "http://[::1]:18789/"],
    ["https://gateway.example:8443/", "/a b", "https://gateway.example:8443/a%20b/"],
    ["ws://127.0.0.1:18789", "//foreign.example", "http://127.0.0.1:18789//foreign.example/"],
  ];
  for (const [url, basePath, page] of pages)
    it(`of ${url} and "${basePath}"`, () => assert.equal(pageOf(url, basePath), page));

  it("has the secret in its fragment only", () => {
    const link = new URL(linkTo("https://gateway.example/panel/", "svc-invite-a_b-c"));
    assert.equal(link.hash, "#invite=svc-invite-a_b-c");
    assert.equal(`${link.pathname}${link.search}`, "/panel/");
  });
});

describe("the way to the panel", () => {
  const PAGE = "http://127.0.0.1:18789/";
  const tunnels: [page: string, env: NodeJS.ProcessEnv, command: string | undefined][] = [
    [PAGE, {}, undefined],
    [
      PAGE,
      { SSH_CONNECTION: "198.51.100.7 50000 192.0.2.1 22", USER: "ada" },
      "ssh -N -L 18789:127.0.0.1:18789 ada@192.0.2.1",
    ],
    [
      PAGE,
      { SSH_CONNECTION: "198.51.100.7 50000 192.0.2.1 2222" },
      "ssh -N -L 18789:127.0.0.1:18789 -p 2222 192.0.2.1",
    ],
    [
      "https://localhost/",
      { SSH_CONNECTION: "::1 1 2001:db8::1 22", LOGNAME: "a b" },
      "ssh -N -L 443:localhost:443 'a b@2001:db8::1'",
    ],
    ["https://gateway.example/", { SSH_CONNECTION: "198.51.100.7 50000 192.0.2.1 22" }, undefined],
    [PAGE, { SSH_CONNECTION: "odd" }, undefined],
  ];
  for (const [page, env, command] of tunnels)
    it(`to ${page} with ${JSON.stringify(env)}`, () => assert.equal(tunnelTo(page, env), command));

  it("is named where browsers offer no secure context, and only there", () => {
    for (const page of [PAGE, "http://localhost:1/", "http://a.localhost/", "http://[::1]:1/", "https://192.0.2.1/"])
      assert.deepEqual(wayAround(page), [], page);
    const text = wayAround("http://192.0.2.1:18789/").join("\n");
    assert.match(text, /plain HTTP[^]*gateway\.tls\.enabled[^]*proxy[^]*ssh -N -L/);
  });
});

describe("the program that opens the link", () => {
  const machines: [Machine, programs: string[]][] = [
    [{ platform: "darwin", env: {} }, ["open"]],
    [{ platform: "win32", env: {} }, ["rundll32"]],
    [{ platform: "linux", env: {} }, []],
    [{ platform: "linux", env: { DISPLAY: "" } }, []],
    [{ platform: "linux", env: { DISPLAY: ":0" } }, ["xdg-open"]],
    [{ platform: "freebsd", env: { WAYLAND_DISPLAY: "wayland-0" } }, ["xdg-open"]],
    [{ platform: "linux", env: { WSL_DISTRO_NAME: "Debian" } }, ["wslview"]],
    [{ platform: "linux", env: { WSL_DISTRO_NAME: "Debian", DISPLAY: ":0" } }, ["wslview", "xdg-open"]],
    [{ platform: "darwin", env: { SSH_CONNECTION: "1 2 3 4" } }, []],
    [{ platform: "linux", env: { SSH_CONNECTION: "1 2 3 4", DISPLAY: "localhost:10.0" } }, []],
  ];
  for (const [machine, programs] of machines)
    it(`is ${programs.join(" or ") || "none"} on ${machine.platform} with ${JSON.stringify(machine.env)}`, () => {
      const openers = openersOf("http://127.0.0.1/#x=1&y", machine);
      assert.deepEqual(
        openers.map(([program]) => program),
        programs,
      );
      for (const [, ...args] of openers) assert.equal(args.at(-1), "http://127.0.0.1/#x=1&y", "one argument, no shell");
    });
});
