// long: starts whole programs
/** `svc dashboard` and the lines of the start, with real gateways, and a client in place of the page. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { WEB_PANEL_CLIENT_ID } from "@svc/sdk/protocol";
import { put } from "../../directory.ts";
import { cleanEnvironment } from "../../gateway-process.ts";
import { inTerminal, withoutTerminal } from "../../host/cli/pseudo-terminal.ts";
import { type Home, home } from "../../host/cli/svc.ts";
import { until } from "../../until.ts";
import { createDevice, knock, type KeptDevice } from "../devices/scene.ts";

const limited = { timeout: 180_000 };
const inPseudoTerminal = { skip: withoutTerminal() };
const few = { plugins: { use: ["config", "storage-sqlite", "devices", "control-panel"] } };
const LINK = /https?:\/\/\S+#invite=\S+/;

interface Printed {
  readonly url: string;
  readonly expiresAtMs?: number;
  readonly opened: boolean;
}

async function printed({ svc }: Home, ...words: string[]): Promise<Printed> {
  const { code, stdout, stderr } = await svc(["dashboard", "--json", ...words]);
  assert.deepEqual([code, stderr], [0, ""]);
  return JSON.parse(stdout) as Printed;
}

/** Connects like the page behind a link. */
async function follow(t: TestContext, link: string, device: KeptDevice) {
  const { origin, hash, host } = new URL(link);
  const token = new URLSearchParams(hash.slice(1)).get("invite") ?? assert.fail(`no invitation: ${link}`);
  const outcome = await knock(`ws://${host}`, {
    device,
    auth: { token },
    scopes: ["operator.admin", "operator.read"],
    client: { id: WEB_PANEL_CLIENT_ID, mode: "ui" },
    headers: { origin },
  });
  t.after(() => outcome.socket.ws.terminate());
  return outcome;
}

describe("svc dashboard", limited, () => {
  it("prints a link that signs one browser in, once; no log and no file has its secret", async (t) => {
    const here = home(t, few);
    const { ready, stop } = await here.run(["--log-level", "debug"]);
    const { code, stdout, stderr } = await here.svc(["dashboard"]);
    assert.deepEqual([code, stderr], [0, ""]);
    const [link = "", told] = stdout.split("\n");
    assert.match(link, LINK);
    assert.equal(new URL(link).origin, ready.url.replace("ws", "http"));
    assert.match(String(told), /^The link signs in one browser, once, within 15 minutes \(until \d{4}-.*Z\)\.$/);

    const device = createDevice();
    const first = await follow(t, link, device);
    const { scopes, deviceToken = "" } = first.auth ?? {};
    assert.deepEqual(scopes, ["operator.admin", "operator.read"]);
    const again = await knock(ready.url, { device, auth: { token: deviceToken } });
    t.after(() => again.socket.ws.terminate());
    assert.ok(again.ok, "its device token replaces the link");
    const second = await follow(t, link, createDevice());
    assert.deepEqual([second.ok, second.details["code"]], [false, "AUTH_INVITATION_INVALID"]);
    assert.match(String(second.message), /was used, has expired or was withdrawn/);
    assert.match(String(second.details["nextStep"]), /svc dashboard/);

    const output = await stop();
    const logs = readdirSync(join(here.stateDir, "logs")).map((name) =>
      readFileSync(join(here.stateDir, "logs", name), "utf8"),
    );
    assert.ok(logs.join("").includes("connect refused"), "the log was read");
    const secret = link.slice(link.indexOf("svc-invite-"));
    assert.ok(![output.stdout, output.stderr, ...logs].join("").includes(secret));
  });

  it("prints JSON with the time of expiry; --ttl sets it", async (t) => {
    const here = home(t, few);
    await here.run();
    const before = Date.now();
    const { url, expiresAtMs = 0, opened } = await printed(here, "--ttl", "2");
    assert.match(url, LINK);
    assert.equal(opened, false);
    assert.ok(expiresAtMs >= before + 120_000 && expiresAtMs <= Date.now() + 120_000);
    for (const ttl of ["0", "61", "1.5", "soon", "-1"]) {
      const { code, stderr } = await here.svc(["dashboard", `--ttl=${ttl}`]);
      assert.equal(code, 2);
      assert.match(stderr, /--ttl .*: must be a whole number of minutes from 1 to 60\nNext: svc dashboard --help/);
    }
  });

  it("links to the base path, and refuses while the panel is not served", async (t) => {
    const controlUi = { basePath: "panel/" };
    const here = home(t, { ...few, gateway: { controlUi } });
    await here.run();
    assert.equal(new URL((await printed(here)).url).pathname, "/panel/");
    assert.equal((await here.svc(["config", "set", "gateway.controlUi.enabled", "false"])).code, 0);
    const { code, stderr } = await here.svc(["dashboard"]);
    assert.equal(code, 1);
    assert.match(stderr, /^UNAVAILABLE: .*\nNext: svc config set gateway\.controlUi\.enabled true/);
  });

  for (const [plugin, message] of [
    ["control-panel", /serves no control panel, because its plugin control-panel does not run/],
    ["devices", /cannot sign browsers in, because its plugin devices does not run/],
  ] as const)
    it(`refuses without the plugin ${plugin}`, async (t) => {
      const here = home(t, { plugins: { use: few.plugins.use.filter((id) => id !== plugin) } });
      await here.run();
      const { code, stderr } = await here.svc(["dashboard"]);
      assert.equal(code, 1);
      assert.match(stderr, message);
      assert.match(stderr, new RegExp(`\nNext: svc plugins why ${plugin}`));
      const { error } = JSON.parse((await here.svc(["dashboard", "--json"])).stdout) as { error: { code: string } };
      assert.equal(error.code, "UNAVAILABLE");
    });

  it("assumes the default place if nothing shows the configuration", async (t) => {
    const here = home(t, { plugins: { use: few.plugins.use.slice(1) } });
    await here.run();
    assert.equal(new URL((await printed(here)).url).pathname, "/");
  });

  it("needs no invitation in modes none and trusted-proxy, and says so", async (t) => {
    const none = home(t, { ...few, gateway: { auth: { mode: "none" } } });
    const { ready } = await none.run();
    const page = `${ready.url.replace("ws", "http")}/`;
    assert.deepEqual(await printed(none), { url: page, opened: false });
    assert.equal(
      (await none.svc(["dashboard"])).stdout,
      `${page}\nNo sign-in is needed: the gateway runs in mode none.\n`,
    );

    const trustedProxy = { userHeader: "x-user", secret: "proxy-secret-of-this-test" };
    const gateway = { auth: { mode: "trusted-proxy", trustedProxy }, trustedProxies: ["127.0.0.2"], bind: "lan" };
    const proxied = home(t, { ...few, gateway });
    await proxied.run();
    assert.match((await proxied.svc(["dashboard"])).stdout, /\/\nYour proxy signs people in: /);
  });

  it("names the tunnel over SSH, and exits with 3 without a gateway", async (t) => {
    const here = home(t, few);
    const { port, stop } = await here.run();
    const env = { SSH_CONNECTION: "198.51.100.7 50000 192.0.2.1 22", USER: "ada", DISPLAY: ":0" };
    const { stdout } = await here.svc(["dashboard"], env);
    assert.match(
      stdout,
      new RegExp(
        `First, on your own computer:\n  ssh -N -L ${port}:127\\.0\\.0\\.1:${port} ada@192\\.0\\.2\\.1\nThen open there:\nhttp`,
      ),
    );
    await stop();
    assert.equal((await here.svc(["dashboard"])).code, 3);
  });
});

/** A directory for PATH with a program that records how it was called. */
function opener({ configPath }: Home, exitCode: number) {
  const place = dirname(configPath);
  const record = join(place, "opened");
  const lines = [
    `printf '%s\\n' "$@" > ${record}.new`,
    `env | grep -c ^SVC_ >> ${record}.new`,
    `mv ${record}.new ${record}`,
  ];
  put(join(place, "bin/xdg-open"), `#!/bin/sh\n${lines.join("\n")}\nexit ${exitCode}\n`, 0o755);
  return { PATH: `${join(place, "bin")}:${process.env["PATH"]}`, record };
}

describe("svc dashboard in a terminal", { ...limited, ...inPseudoTerminal }, () => {
  function terminal(t: TestContext, here: Home, words: readonly string[], env: Record<string, string>) {
    const own = cleanEnvironment(here.stateDir, { SVC_CONFIG_PATH: here.configPath, DISPLAY: ":0", ...env });
    delete own["SSH_CONNECTION"];
    return inTerminal(t, ["dashboard", ...words], own);
  }

  it("opens the link with the program of the desktop, without the gateway's variables", async (t) => {
    const here = home(t, few);
    await here.run();
    const { PATH, record } = opener(here, 0);
    const shown = terminal(t, here, [], { PATH, SVC_LOG_LEVEL: "warn" });
    assert.equal(await shown.ended, 0);
    const [link = ""] = LINK.exec(shown.shown()) ?? [];
    assert.equal(readFileSync(record, "utf8"), `${link}\n0\n`);
    assert.match(shown.shown(), /It was opened in your browser\.\n$/);
    assert.ok((await follow(t, link, createDevice())).ok);
  });

  it("prints the link all the same if nothing opens it", async (t) => {
    const here = home(t, few);
    await here.run();
    const { PATH, record } = opener(here, 3);
    const failing = terminal(t, here, [], { PATH });
    assert.equal(await failing.ended, 0);
    await until(() => existsSync(record));
    const unwanted = terminal(t, here, ["--no-open"], { PATH: opener(here, 0).PATH });
    assert.equal(await unwanted.ended, 0);
    for (const one of [failing, unwanted]) {
      assert.match(one.shown(), LINK);
      assert.doesNotMatch(one.shown(), /opened/);
    }
    assert.match(readFileSync(record, "utf8"), LINK);
    assert.ok(
      !readFileSync(record, "utf8").includes(String(LINK.exec(unwanted.shown())?.[0])),
      "--no-open opens nothing",
    );
  });
});

describe("svc gateway run", limited, () => {
  it("prints a link that signs in below its addresses in a terminal", inPseudoTerminal, async (t) => {
    const here = home(t, { plugins: { use: [...few.plugins.use, "plugins"] } });
    const env = cleanEnvironment(here.stateDir, { SVC_CONFIG_PATH: here.configPath });
    const terminal = inTerminal(t, ["gateway", "run", "--port", "0"], env);
    await terminal.shows(/Stop with Ctrl-C/);
    const lines = terminal.shown().split("\n");
    const at = lines.findIndex((line) => line.startsWith("  HTTP "));
    const [link = ""] = LINK.exec(terminal.shown()) ?? [];
    assert.equal(lines[at + 1], `  panel      ${link}`);
    assert.match(String(lines[at + 2]), /^ {13}\(signs in one browser, once, within 15 minutes/);
    assert.ok((await follow(t, link, createDevice())).ok);
    const { plugins } = JSON.parse((await here.svc(["plugins", "list", "--json"])).stdout) as {
      plugins: { id: string; asleep?: boolean }[];
    };
    assert.equal(plugins.find(({ id }) => id === "control-panel")?.asleep, true, "the start does not wake it");
  });

  it("prints no secret to anything else than a terminal", async (t) => {
    const here = home(t, few);
    const started = here.svc(["gateway", "run", "--port", "0"]);
    await until(async () => (await here.svc(["dashboard"])).code === 0);
    assert.equal((await here.svc(["gateway", "stop"])).code, 0);
    const { stdout, stderr } = await started;
    assert.match(
      stdout,
      /\n {2}HTTP .*\n {2}panel {6}http:\/\/127\.0\.0\.1:\d+\/ {2}\(svc dashboard opens it, signed in\)\n/,
    );
    assert.ok(!`${stdout}${stderr}`.includes("svc-invite-"));
  });
});
