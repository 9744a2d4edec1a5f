/** Decisions of the sandbox: which settings count, what a program sees, when it is refused, what people are told. */
import assert from "node:assert/strict";
import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  createSandbox,
  findSandbox,
  type Mount,
  sandboxArgv,
  sandboxFindings,
  sandboxMisfit,
  sandboxMounts,
  type SandboxPlace,
  sandboxRules,
  type SandboxSearch,
  systemMounts,
} from "@svc/kit/exec";
import { isInside } from "@svc/sdk/files";
import type { SandboxSettings } from "@svc/sdk/tools";
import { directory } from "../../../directory.ts";

const SYSTEM: Mount[] = [
  { kind: "read", path: "/usr" },
  { kind: "link", path: "/bin", to: "usr/bin" },
  { kind: "read", path: "/etc" },
  { kind: "read", path: "/opt" },
];
const SERVED = { stateDir: "/srv/svc/state", home: "/home/svc" };
const place: SandboxPlace = {
  own: ["/srv/agent"],
  locked: [],
  stateDir: "/home/ada/.svc",
  home: "/home/ada",
  hidden: [],
};
const FOUND: SandboxSearch = { path: "/usr/bin/bwrap", version: "0.8.0", system: SYSTEM };
const MISSING: SandboxSearch = { missing: "the program bwrap is not on PATH", install: "apt install bubblewrap" };

/** What of this path the program sees; the lowest mount that covers it, and of those the last one. */
function seen(mounts: readonly Mount[], path: string): Mount["kind"] | "absent" {
  return mounts.findLast((mount) => isInside(mount.path, path))?.kind ?? "absent";
}

describe("what a sandboxed program sees", () => {
  const layouts: readonly (readonly [
    what: string,
    place: Pick<SandboxPlace, "stateDir" | "home" | "own">,
    more?: SandboxSettings,
  ])[] = [
    ["the usual one", { stateDir: "/home/ada/.svc", home: "/home/ada", own: ["/home/ada/.svc/workspace"] }],
    ["a service", { stateDir: "/var/lib/svc", home: "/var/lib/svc", own: ["/var/lib/svc/workspace"] }],
    ["root", { stateDir: "/root/.svc", home: "/root", own: ["/root/.svc/workspace"] }],
    ["state below /opt", { stateDir: "/opt/svc/state", home: "/home/svc", own: ["/opt/svc/state/workspace"] }],
    ["state below /etc", { stateDir: "/etc/svc", home: "/home/svc", own: ["/srv/agent"] }],
    ["a home below /usr", { stateDir: "/usr/local/svc/.svc", home: "/usr/local/svc", own: ["/usr/local/svc/work"] }],
    ["state within the workspace", { stateDir: "/srv/agent/.svc", home: "/home/svc", own: ["/srv/agent"] }],
    ["all of it in /tmp", { stateDir: "/tmp/t/state", home: "/tmp/t/home", own: ["/tmp/t/state/workspace"] }],
    [
      "further paths",
      { ...SERVED, own: ["/srv/svc/work"] },
      { readPaths: ["/srv/data"], writePaths: ["/home/svc/cache"] },
    ],
    ["a further path around another workspace", { ...SERVED, own: ["/srv/a/one"] }, { readPaths: ["/srv/a"] }],
  ];
  for (const [what, place, more] of layouts) {
    it(`is its own and not what others own: ${what}`, () => {
      const [own = ""] = place.own;
      const rules = sandboxRules(more);
      const locked = [`${own}/AGENTS.md`];
      const others = ["/opt/agents/other", "/srv/a/two"];
      const config = "/etc/svc.json";
      const around = { ...place, locked, hidden: [...others, config] };
      const given = [...rules.readPaths, ...rules.writePaths].map((path) => ({ given: path, real: path }));
      assert.equal(sandboxMisfit(given, around), undefined);
      const hidden = [
        ...[place.stateDir, ...others].map((path) => ({ path, of: "directory" as const })),
        { path: config, of: "file" as const },
      ];
      const mounts = sandboxMounts(SYSTEM, rules, around, hidden);
      const at = (path: string) => seen(mounts, path);
      const known = [
        `${own}/notes/a.txt`,
        `${own}/AGENTS.md`,
        "/usr/bin/sh",
        "/tmp/x/y",
        "/srv/secret",
        "/run/docker.sock",
      ];
      assert.deepEqual(known.map(at), ["write", "read", "read", "private", "absent", "absent"]);
      const secrets = [`${place.stateDir}/svc.db`, `${place.stateDir}/credentials/token`, `${place.home}/.ssh/id`];
      for (const path of [...secrets, ...others, config])
        assert.ok(["absent", "private", "nothing"].includes(at(path)), `${path} is ${at(path)}`);
      for (const path of rules.readPaths) assert.equal(at(`${path}/x`), "read");
      for (const path of rules.writePaths) assert.equal(at(`${path}/x`), "write");
    });
  }

  it("is the public part of /etc", async (t) => {
    const etc = directory(t);
    await mkdir(join(etc, "open"));
    await mkdir(join(etc, "closed"));
    for (const [name, mode] of [
      ["hosts", 0o644],
      ["shadow", 0o640],
      ["open/key", 0o600],
      ["open/list", 0o444],
      ["closed/any", 0o644],
    ] as const) {
      await writeFile(join(etc, name), "");
      await chmod(join(etc, name), mode);
    }
    await chmod(join(etc, "closed"), 0o750);
    await symlink("shadow", join(etc, "link"));
    const mounts = await systemMounts([etc], etc);
    const named = (name: string) => seen(mounts, join(etc, name));
    assert.deepEqual(["hosts", "open/list", "shadow", "open/key", "closed/any"].map(named), [
      "read",
      "read",
      "nothing",
      "nothing",
      "nothing",
    ]);
  });
});

describe("paths that show what is to be hidden", () => {
  const cases: readonly (readonly [given: string, real: string | undefined, why: RegExp | undefined])[] = [
    ["/srv/data", "/srv/data", undefined],
    ["/home/ada/.nvm", "/home/ada/.nvm", undefined],
    ["/", "/", /exposes the home/],
    ["/home", "/home", /exposes the home/],
    ["/home/ada", "/home/ada", /exposes the home/],
    ["/home/ada/.svc", "/home/ada/.svc", /state directory/],
    ["/home/ada/.svc/credentials", "/home/ada/.svc/credentials", /state directory/],
    ["/srv/link", "/home/ada/.ssh", /is a link to \/home\/ada\/\.ssh; write/],
    ["/srv/none", undefined, /does not exist; create it/],
  ];
  for (const [given, real, why] of cases) {
    it(`${given}: ${why === undefined ? "fine" : "refused"}`, () => {
      const said = sandboxMisfit([{ given, real }], place);
      if (why === undefined) assert.equal(said, undefined);
      else assert.match(said ?? "", why);
    });
  }

  for (const own of ["/home/ada", "/home", "/"]) {
    it(`a working directory ${own} is refused`, () => {
      assert.match(
        sandboxMisfit([], { ...place, own: [own] }) ?? "",
        /contains the home directory .*; choose a separate directory/,
      );
    });
  }
});

describe("the command line", () => {
  const shape = { network: false, memoryMb: 100, processes: 20, mounts: SYSTEM };
  const program = { file: "/usr/bin/rg", argv: ["rg", "-n", "a b"], cwd: "/w" };
  const words = sandboxArgv(program, shape);

  it("ends with the limits and the program, word by word", () => {
    const after = words.slice(words.indexOf("--"));
    assert.deepEqual(
      [after.slice(0, 3), after.slice(4)],
      [
        ["--", "/bin/sh", "-c"],
        ["sh", "102400", "20", "/usr/bin/rg", "-n", "a b"],
      ],
    );
    assert.equal(words[words.indexOf("--chdir") + 1], "/w");
  });

  it("has the network only where it is allowed", () => {
    assert.deepEqual(
      [words, sandboxArgv(program, { ...shape, network: true })].map((all) => all.includes("--unshare-net")),
      [true, false],
    );
  });

  it("tells a program of many names which one it has", () => {
    const named = sandboxArgv({ file: "/usr/bin/busybox", argv: ["ls", "-l"], cwd: "/w" }, shape);
    const at = named.indexOf("/usr/bin/busybox");
    assert.deepEqual(
      [named.slice(at - 1, at + 2), named.slice(-2)],
      [
        ["--symlink", "/usr/bin/busybox", "/run/svc/ls"],
        ["/run/svc/ls", "-l"],
      ],
    );
  });

  for (const flag of ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--disable-userns", "--die-with-parent"]) {
    it(`has ${flag}`, () => assert.ok(words.includes(flag)));
  }
});

describe("looking for bubblewrap", { skip: process.platform !== "linux" && "it works on Linux only" }, () => {
  const cases: readonly (readonly [version: string | undefined, says: string, missing: RegExp, install: RegExp])[] = [
    [undefined, "", /bwrap is not on PATH/, /apt install bubblewrap/],
    ["0.6.1", "", /0\.6\.1 is too old/, /0\.8\.0 or later/],
    [
      "0.8.0",
      "No permissions to create new namespace",
      /create a sandbox here: bwrap: No permissions/,
      /unprivileged_userns/,
    ],
    ["0.10.0", "Creating new namespace failed: No space left on device", /0\.10\.0 cannot/, /max_user_namespaces/],
    ["0.9.0", "setting up uid map: Permission denied", /uid map/, /AppArmor/],
    ["0.9.0", "loopback: Failed RTM_NEWADDR: Operation not permitted", /loopback/, /AppArmor/],
    ["0.8.0", "Can't mount proc on /newroot/proc: Operation not permitted", /mount proc/, /systempaths=unconfined/],
    ["0.8.0", "what?", /what\?/, /try it by hand/],
  ];
  for (const [version, says, missing, install] of cases) {
    it(`names the reason and the next step: ${version ?? "none"} ${says}`, async (t) => {
      const path = directory(t);
      if (version !== undefined) {
        const text = `#!/bin/sh\nif [ "$1" = --version ]; then echo bubblewrap ${version}; exit; fi\necho "bwrap: ${says}" >&2; exit 1\n`;
        await writeFile(join(path, "bwrap"), text, { mode: 0o755 });
      }
      const found = await findSandbox({ path, platform: "linux" });
      assert.ok("missing" in found);
      assert.match(found.missing, missing);
      assert.match(found.install, install);
    });
  }

  it("says that other systems have none", async () => {
    assert.match(JSON.stringify(await findSandbox({ path: "/usr/bin", platform: "darwin" })), /on Linux only/);
  });
});

describe("confining", () => {
  const program = { file: "/usr/bin/true", argv: ["true"], cwd: "/srv/agent" };
  const open = (search: SandboxSearch) => {
    const warned: unknown[] = [];
    let looks = 0;
    let at = 0;
    const find = async () => {
      looks += 1;
      return search;
    };
    const sandbox = createSandbox({
      clock: { elapsed: () => at },
      log: { warn: (fields) => void warned.push(fields) },
      find,
    });
    return { sandbox, warned, later: (ms: number) => void (at += ms), looks: () => looks };
  };

  type Row = readonly [
    "off" | "prefer" | "require",
    SandboxSearch,
    "as it is" | "sandbox" | "refused",
    inForce: boolean,
  ];
  const table: readonly Row[] = [
    ["off", FOUND, "as it is", false],
    ["off", MISSING, "as it is", false],
    ["prefer", FOUND, "sandbox", true],
    ["prefer", MISSING, "as it is", false],
    ["require", FOUND, "sandbox", true],
    ["require", MISSING, "refused", false],
  ];
  for (const [mode, search, outcome, inForce] of table) {
    it(`${mode} where there is ${"missing" in search ? "none" : "one"}: ${outcome}`, async () => {
      const { sandbox } = open(search);
      const confined = sandbox.confine(program, sandboxRules({ mode }), 'agent "main"', async () => place);
      if (outcome === "refused") {
        await assert.rejects(confined, {
          code: "UNAVAILABLE",
          message: /agent "main" needs a sandbox.*not on PATH.*Next, for an operator: apt install bubblewrap/,
        });
      } else {
        assert.equal((await confined).file, outcome === "sandbox" ? "/usr/bin/bwrap" : program.file);
      }
      assert.equal(await sandbox.inForce({ mode }), inForce);
    });
  }

  it("says once that what is preferred is not there", async () => {
    const { sandbox, warned } = open(MISSING);
    for (const about of ["one", "two"])
      await sandbox.confine(program, sandboxRules({ mode: "prefer" }), about, async () => place);
    assert.equal(warned.length, 1);
    assert.match(JSON.stringify(warned), /not on PATH.*apt install/);
  });

  it("looks again after a minute, since people install things", async () => {
    const { sandbox, later, looks } = open(MISSING);
    for (const ms of [0, 59_999, 1, 0]) {
      later(ms);
      await sandbox.inForce({ mode: "prefer" });
    }
    assert.equal(looks(), 2);
  });

  it("refuses paths that show what it hides, whatever the mode", async () => {
    const { sandbox } = open(FOUND);
    const rules = sandboxRules({ mode: "prefer", readPaths: ["/"] });
    await assert.rejects(
      sandbox.confine(program, rules, "x", async () => place),
      { code: "INVALID_REQUEST" },
    );
  });

  it("takes settings key by key, the later level first", () => {
    const rules = sandboxRules({ mode: "require", network: true, memoryMb: 100 }, undefined, { network: false });
    assert.deepEqual([rules.mode, rules.network, rules.memoryMb, rules.processes], ["require", false, 100, 512]);
  });
});

describe("svc doctor on sandboxes", () => {
  type Row = readonly [SandboxSettings, SandboxSearch, isRoot: boolean, severity: string, says: RegExp, next: RegExp];
  const here = /bubblewrap 0\.8\.0: without network, 4096 MiB .*, 512 processes/;
  const asRoot = /with network.*no process limit \(the gateway runs as root\)/;
  const table: readonly Row[] = [
    [{}, FOUND, false, "info", /without a sandbox/, /svc config set k\.mode prefer/],
    [{ mode: "prefer" }, FOUND, false, "info", here, /svc config get k/],
    [{ mode: "require", network: true }, FOUND, true, "info", asRoot, /a dedicated user/],
    [{ mode: "prefer" }, MISSING, false, "warning", /without the preferred sandbox.*not on PATH/, /apt install/],
    [{ mode: "require" }, MISSING, false, "error", /nothing runs.*not on PATH/, /apt install/],
  ];
  for (const [settings, search, isRoot, severity, says, next] of table) {
    it(`${JSON.stringify(settings)} where there is ${"missing" in search ? "none" : "one"}: ${severity}`, () => {
      const subject = { about: "agent main", rules: sandboxRules(settings), key: "k" };
      const [finding] = sandboxFindings([subject], search, isRoot);
      assert.deepEqual([finding?.severity, finding?.about], [severity, "agent main"]);
      assert.match(finding?.message ?? "", says);
      assert.match(finding?.next ?? "", next);
    });
  }
});
