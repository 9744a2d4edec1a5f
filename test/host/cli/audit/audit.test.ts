// long: starts whole programs
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, lstatSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { put } from "../../../directory.ts";
import { filesOf } from "../../../plugin-package.ts";
import { treeLines } from "../../../tree-hash.ts";
import { type Home, home } from "../svc.ts";

interface Answer {
  readonly ok: boolean;
  readonly counts: Readonly<Record<string, number>>;
  readonly findings: readonly Readonly<Record<"id" | "severity" | "about" | "message" | "why" | "mend", string>>[];
  readonly skipped: readonly { readonly id: string; readonly reason: string }[];
  readonly fixed?: { readonly id: string; readonly done: readonly { readonly failed?: string }[] };
}

const DEVICE_CHECKS = ["devices.unseen", "devices.old-token", "devices.many-admins"];
/** Must never be printed. */
const CANARY = "CANARY0123456789";

async function audited(here: Home, ...flags: readonly string[]) {
  const { code, stdout, stderr } = await here.svc(["security", "audit", "--json", ...flags]);
  assert.ok(!`${stdout}${stderr}`.includes(CANARY));
  return { code, ...(JSON.parse(stdout) as Answer) };
}

/** The arguments after the shell parsed a command line of svc. */
function wordsOf(line: string): readonly string[] {
  return execFileSync("bash", ["-c", `printf '%s\\0' ${line}`], { encoding: "utf8" })
    .split("\0")
    .slice(1, -1);
}

const ids = ({ findings }: Answer) => findings.map(({ id, about }) => `${id} ${about}`).sort();

/** A state directory as a start creates it, and a configuration that only its owner can read. */
function privately(here: Home): void {
  chmodSync(here.configPath, 0o600);
  mkdirSync(here.stateDir, { mode: 0o700 });
}

describe("svc security audit", { timeout: 120_000 }, () => {
  it("finds nothing in a fresh installation, before its first start, while it runs and after", async (t) => {
    const here = home(t);
    const before = await audited(here);
    assert.deepEqual([before.code, before.findings, before.counts], [0, [], { critical: 0, warning: 0, info: 0 }]);
    assert.deepEqual(
      before.skipped.map(({ id }) => id),
      DEVICE_CHECKS,
    );

    const running = await here.run();
    const while_ = await audited(here);
    assert.deepEqual([while_.code, while_.findings, while_.skipped], [0, [], []]);
    await running.stop();

    const after = await audited(here);
    assert.deepEqual([after.code, after.findings], [0, []]);
    assert.match(after.skipped[0]?.reason ?? "", /needs a running gateway, and none responds; next: svc gateway run/);
    const text = await here.svc(["security", "audit"]);
    assert.match(
      text.stdout,
      /^Nothing unsafe was found\.\nnot checked: devices\.unseen, devices\.old-token, devices\.many-admins: /,
    );
  });

  it("lists exactly the faults of a bad configuration, and its commands fix them", async (t) => {
    const here = home(t, {
      gateway: {
        bind: "lan",
        auth: { token: CANARY },
        trustedProxies: ["0.0.0.0/0"],
        controlUi: { allowedOrigins: ["*"], dangerouslyDisableDeviceAuth: true },
        tools: { allow: ["gateway"] },
      },
      hooks: { enabled: true, token: `hook${CANARY}`, mappings: [{ id: "x", allowUnsafeExternalContent: true }] },
      logging: { redactSensitive: "off" },
      tools: { fromOutside: "allow" },
      mcp: { servers: { a: { command: "x", args: ["--token", CANARY] } } },
    });
    privately(here);
    put(
      join(here.stateDir, "exec-approvals.json"),
      '{"version":1,"agents":{"*":{"security":"full","ask":"off"}}}',
      0o600,
    );

    const found = await audited(here);
    assert.equal(found.code, 1);
    assert.deepEqual(ids(found), [
      "approvals.unasked exec-approvals.json: *",
      "config.secret-in-file gateway.auth.token",
      "config.secret-in-file hooks.token",
      "gateway.any-origin gateway.controlUi.allowedOrigins",
      "gateway.panel-without-device gateway.controlUi.dangerouslyDisableDeviceAuth",
      "gateway.weak-secret gateway.auth.token",
      "gateway.wide-proxies gateway.trustedProxies",
      "hooks.weak-token hooks.token",
      "logging.redaction-off logging.redactSensitive",
      "mcp.secret-argument mcp.servers.a.args[1]",
      "tools.from-outside tools.fromOutside",
      "tools.http-dangerous gateway.tools.allow",
      "webhook-agent.any-agent hooks.allowedAgentIds",
      "webhook-agent.unmarked-content hooks.mappings[0]",
    ]);
    assert.deepEqual(found.counts, { critical: 7, warning: 5, info: 2 });
    for (const one of found.findings)
      for (const key of ["id", "severity", "about", "message", "why", "mend"] as const)
        assert.ok(one[key], `${one.id} ${key}`);

    const env = {
      SVC_GATEWAY_AUTH_TOKEN: "Zq8vK2mT5xR9bN4wL7cJ1hF6",
      SVC_HOOKS_TOKEN: "0f3c9a7b1e5d2846a0c4f8e97b6d1352",
    };
    const config = found.findings.filter(({ mend }) => mend.startsWith("svc config "));
    // The variables come last: they replace the values generated by the shell.
    for (const { mend } of config.toSorted(
      (one, other) => Number(one.id === "config.secret-in-file") - Number(other.id === "config.secret-in-file"),
    )) {
      const done = await here.svc(wordsOf(mend), env);
      assert.equal(done.code, 0, `${mend}: ${done.stderr}`);
    }
    const left = JSON.parse((await here.svc(["security", "audit", "--json"], env)).stdout) as Answer;
    assert.deepEqual(ids(left), ["approvals.unasked exec-approvals.json: *"]);
  });

  it("reads a configuration that no gateway starts with, and reports it", async (t) => {
    const torn = home(t, "{ gateway: ");
    privately(torn);
    const unreadable = await audited(torn);
    assert.deepEqual([unreadable.code, ids(unreadable)], [1, [`config.unreadable ${torn.configPath}`]]);

    const wrong = home(t, { gateway: { port: "x", controlUi: { allowInsecureAuth: true } }, hooks: { enabled: true } });
    privately(wrong);
    assert.deepEqual(ids(await audited(wrong)), [
      "config.invalid gateway.port",
      "gateway.insecure-panel gateway.controlUi.allowInsecureAuth",
      "hooks.weak-token hooks.token",
      "webhook-agent.any-agent hooks.allowedAgentIds",
    ]);
  });

  it("--fix corrects modes and nothing else, and can be undone", async (t) => {
    const here = home(t, { gateway: { controlUi: { dangerouslyDisableDeviceAuth: true } } });
    const at = (...parts: string[]) => join(here.stateDir, ...parts);
    put(at("credentials/gateway-token"), "Zq8vK2mT5xR9bN4wL7cJ1hF6", 0o644);
    put(at("plugins/storage-sqlite/svc.db"), "", 0o666);
    put(at("stale.json.4194305.0123456789ab.tmp"), "{");
    chmodSync(here.stateDir, 0o755);
    for (const directory of ["credentials", "plugins", "plugins/storage-sqlite"]) chmodSync(at(directory), 0o700);
    const config = readFileSync(here.configPath, "utf8");
    const before = treeLines(here.stateDir);
    const files = ["credentials/gateway-token", "plugins/storage-sqlite/svc.db"].map((path) => at(path));
    const modes = [here.stateDir, here.configPath, ...files];
    const opened = modes.map((path) => `files.open ${path}`);
    const panel = "gateway.panel-without-device gateway.controlUi.dangerouslyDisableDeviceAuth";
    assert.deepEqual(ids(await audited(here)), [...opened, panel].sort());
    assert.deepEqual(treeLines(here.stateDir), before, "it only reads");

    const mended = await audited(here, "--fix");
    assert.deepEqual([mended.code, ids(mended)], [1, [panel]]);
    const outcomes = mended.fixed?.done.map(({ failed }) => failed);
    assert.deepEqual(outcomes, [undefined, undefined, undefined, undefined]);
    const modeOf = (path: string) => lstatSync(path).mode & 0o777;
    assert.deepEqual(modes.map(modeOf), [0o700, 0o600, 0o600, 0o600]);
    assert.equal(readFileSync(here.configPath, "utf8"), config);
    assert.equal(readFileSync(at("stale.json.4194305.0123456789ab.tmp"), "utf8"), "{");

    assert.equal((await here.svc(["doctor", "--undo", mended.fixed?.id ?? ""])).code, 0);
    assert.deepEqual(modes.map(modeOf), [0o755, 0o644, 0o644, 0o666]);
  });

  it("runs the checks of third-party plugins, and names those it cannot run", async (t) => {
    const checks = (id: string, find: string) =>
      `export default [{ id: "${id}", severity: "info", why: "Because.", find: (view) => { ${find} } }];`;
    const plugins = {
      good: checks("good.port", `return [{ about: "good\\u001b[2J", message: "It is.", mend: "svc config get" }]`),
      failing: checks("failing.port", `throw new Error("no such thing")`),
      thief: checks("gateway.no-auth", "return []"),
    };
    const here = home(t, {});
    const place = join(here.configPath, "..");
    for (const [id, code] of Object.entries(plugins)) {
      const files = filesOf({ name: id, svc: { security: "./security.js" }, files: { "security.js": code } });
      for (const [path, text] of Object.entries(files)) put(join(place, id, path), text);
    }
    put(here.configPath, JSON.stringify({ plugins: { use: Object.keys(plugins).map((id) => `./${id}`) } }), 0o600);
    mkdirSync(here.stateDir, { mode: 0o700 });
    const { findings, skipped } = await audited(here);
    const unconfined = "plugins.unconfined";
    const found = findings.map(({ id }) => id);
    assert.deepEqual(found, [unconfined, unconfined, unconfined, "good.port"]);
    const told = skipped.map(({ id, reason }) => `${id}: ${reason}`);
    assert.deepEqual(told, [
      'thief: its checks cannot be read: the id of each check must begin with "thief.", but one is "gateway.no-auth"',
      "failing.port: no such thing",
    ]);
    const { stdout, code } = await here.svc(["security", "audit"]);
    assert.equal(code, 0, "no critical finding");
    assert.match(
      stdout,
      /^info \(1\)\n {2}good\.port {2}good\\u001b\[2J: It is\.\n {4}why: Because\.\n {4}fix: svc config get$/m,
    );

    chmodSync(join(place, "good"), 0o777);
    assert.ok(ids(await audited(here)).includes(`plugins.shared ${join(place, "good")}`));
    chmodSync(join(place, "good"), 0o755);
    chmodSync(place, 0o777);
    assert.ok(ids(await audited(here)).includes(`files.shared-parent ${place}`));
    chmodSync(place, 0o700);
  });

  it("refuses --url", async (t) => {
    const { code, stderr } = await home(t).svc(["security", "audit", "--url", "ws://127.0.0.1:1"]);
    assert.notEqual(code, 0);
    assert.match(stderr, /does not accept --url/);
  });
});
