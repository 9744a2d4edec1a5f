import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  leftOut,
  renderService,
  type ServiceFacts,
  serviceName,
  servicePath,
} from "../../../../host/cli/service/definition.ts";
import { difference } from "../../../../host/cli/service/difference.ts";
import { findSupervisor, type Machine } from "../../../../host/cli/service/supervisor.ts";
import { home } from "../svc.ts";
import { directory } from "../../../directory.ts";

const facts: ServiceFacts = {
  node: "/opt/node 20/bin/node",
  script: '/srv/100%/"svc"/$HOME/svc.js',
  stateDir: "/home/ann/.svc",
  home: "/home/ann",
  env: {
    PATH: "/usr/bin:/bin",
    SVC_GATEWAY_PORT: "19001",
    SVC_GATEWAY_TOKEN: "hunter22",
    SVC_STATE_DIR: "ignored",
    HTTPS_PROXY: "http://me:pass@proxy",
  },
};

const UNIT = `# Written by: svc gateway install
[Unit]
Description=svc gateway
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart="/opt/node 20/bin/node" "/srv/100%%/\\"svc\\"/$$HOME/svc.js" "gateway" "run" "--last-good"
Environment="SVC_STATE_DIR=/home/ann/.svc"
Environment="SVC_GATEWAY_PORT=19001"
Environment="PATH=/usr/bin:/bin"
Environment="SVC_SUPERVISOR=systemd"
Restart=always
RestartSec=5
RestartForceExitStatus=75
SuccessExitStatus=75
KillMode=mixed
KillSignal=SIGTERM
TimeoutStopSec=630
UMask=0077

[Install]
WantedBy=default.target
`;

const PLIST = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by: svc gateway install -->
<plist version="1.0">
<dict>
  <key>Label</key><string>svc.gateway</string>
  <key>ProgramArguments</key>
  <array>
    <string>/opt/node 20/bin/node</string>
    <string>/Users/a &amp; b/svc.js</string>
    <string>gateway</string>
    <string>run</string>
    <string>--last-good</string>
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>SVC_STATE_DIR</key><string>/home/ann/.svc</string>
    <key>SVC_GATEWAY_PORT</key><string>19001</string>
    <key>PATH</key><string>/usr/bin:/bin</string>
    <key>SVC_SUPERVISOR</key><string>launchd</string>
  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><true/>
  <key>ThrottleInterval</key><integer>5</integer>
  <key>ExitTimeOut</key><integer>630</integer>
  <key>ProcessType</key><string>Interactive</string>
  <key>Umask</key><integer>63</integer>
  <key>StandardOutPath</key><string>/home/ann/.svc/logs/service.log</string>
  <key>StandardErrorPath</key><string>/home/ann/.svc/logs/service.log</string>
</dict>
</plist>
`;

describe("a service", () => {
  it("of systemd has the command, with everything escaped and no secret", () =>
    assert.equal(renderService(facts, "systemd"), UNIT));

  it("of launchd has the same", () =>
    assert.equal(renderService({ ...facts, script: "/Users/a & b/svc.js" }, "launchd"), PLIST));

  it("of systemd passes systemd's own check", (t) => {
    if (spawnSync("systemd-analyze", ["--version"]).status !== 0) return t.skip("there is no systemd-analyze");
    const path = join(directory(t), "svc-gateway.service");
    const here = { ...facts, node: process.execPath, script: "/srv/100% of it/svc.js" };
    writeFileSync(path, renderService(here, "systemd"));
    const { stderr } = spawnSync("systemd-analyze", ["verify", "--user", path], { encoding: "utf8" });
    assert.doesNotMatch(stderr, /svc-gateway\.service/);
  });

  it("is refused for a path that no service file can express", () => {
    const split = { ...facts, stateDir: "/a\nExecStart=/bin/sh" };
    assert.throws(() => renderService(split, "systemd"), { code: "INVALID_REQUEST" });
  });

  it("has its own name per state directory, and a path among the user's services", () => {
    const other = { ...facts, stateDir: "/srv/other" };
    assert.equal(servicePath(facts, "systemd"), "/home/ann/.config/systemd/user/svc-gateway.service");
    assert.match(serviceName(other, "systemd"), /^svc-gateway-[0-9a-f]{8}\.service$/);
    assert.equal(servicePath(facts, "launchd"), "/home/ann/Library/LaunchAgents/svc.gateway.plist");
    assert.deepEqual(leftOut(facts.env), ["SVC_GATEWAY_TOKEN"]);
  });

  it("that differs is shown line by line", () => {
    assert.deepEqual(difference("a\nb\nc", "a\nx\nc\nd"), [" a", "-b", "+x", " c", "+d"]);
    assert.deepEqual(difference("a", "a"), [" a"]);
  });
});

type ExitCode = (args: readonly string[]) => number;

/** A machine with one program, which records its calls. */
function machine(name: string, platform: NodeJS.Platform, exitCode: ExitCode): Machine & { asked: string[] } {
  const asked: string[] = [];
  const run = async (args: readonly string[]) => {
    asked.push(args.join(" "));
    return { code: exitCode(args), stdout: "", stderr: "Failed to connect to bus" };
  };
  const find = async (wanted: string) => (wanted === name ? run : undefined);
  return { asked, platform, uid: 501, byHand: "svc gateway run", find };
}

describe("the service manager", () => {
  it("is systemd of the user", async () => {
    const linux = machine("systemctl", "linux", () => 0);
    const supervisor = await findSupervisor(linux);
    await supervisor.enable("x.service", "/x");
    await supervisor.disable("x.service", "/x");
    await supervisor.forget();
    assert.deepEqual(linux.asked, [
      "--user show-environment",
      "--user daemon-reload",
      "--user enable x.service",
      "--user restart x.service",
      "--user disable --now x.service",
      "--user daemon-reload",
    ]);
  });

  it("is launchd of the user", async () => {
    const mac = machine("launchctl", "darwin", ([verb]) => (verb === "print" ? 1 : 0));
    const supervisor = await findSupervisor(mac);
    await supervisor.enable("x", "/x.plist");
    await supervisor.start("x", "/x.plist");
    await supervisor.stop("x", "/x.plist");
    assert.deepEqual(mac.asked, [
      "bootout gui/501/x",
      "bootstrap gui/501 /x.plist",
      "print gui/501/x",
      "bootstrap gui/501 /x.plist",
      "kickstart gui/501/x",
      "bootout gui/501/x",
    ]);
  });

  const nobody: [why: string, machine: Machine, told: RegExp][] = [
    [
      "no systemd",
      machine("other", "linux", () => 0),
      /no systemd user session, so the gateway .+ service\nNext: svc gateway run/,
    ],
    ["no bus", machine("systemctl", "linux", () => 1), /no systemd user session \(Failed to connect to bus\)/],
    ["another system", machine("systemctl", "win32", () => 0), /user services are not supported on win32/],
  ];
  for (const [why, here, told] of nobody) {
    it(`does not exist on a machine with ${why}; the error names the command to run instead`, () =>
      assert.rejects(findSupervisor(here), { code: "UNAVAILABLE", message: told }));
  }
});

describe("svc gateway install", { timeout: 120_000 }, () => {
  it("shows what it would write, and is refused without a service manager", async (t) => {
    const here = home(t);
    const XDG_CONFIG_HOME = join(here.stateDir, "..", "config");
    const env = { SVC_GATEWAY_TOKEN: "hunter22", PATH: "/nowhere", XDG_CONFIG_HOME };
    const shown = await here.svc(["gateway", "install", "--dry-run"], env);
    assert.equal(shown.code, 0, shown.stderr);
    assert.match(shown.stdout, /host\/cli\/svc\.js" "gateway" "run" "--last-good"|<string>gateway<\/string>/);
    assert.match(shown.stdout, /SVC_GATEWAY_TOKEN is set here but not written/);
    assert.ok(!shown.stdout.includes("hunter22"));
    const refused = await here.svc(["gateway", "install"], env);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /Next: SVC_STATE_DIR=\S+ \S+node \S+svc\.js gateway run/);
    const gone = await here.svc(["gateway", "uninstall"], env);
    assert.match(gone.stdout, /nothing to do/);
  });
});
