/** What an entry of an allowlist means beyond profiles: exact arguments, any arguments, directories, and programs that run others. */
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type ExecPlace, judgeExec } from "@svc/kit/exec";
import type { AllowedProgram } from "@svc/sdk/approvals";
import { directory, put } from "../../../directory.ts";

const AT: ExecPlace = { root: "/w", isWorkspace: true };

interface Row {
  readonly entry: AllowedProgram;
  readonly argv: readonly string[];
  readonly path?: string;
  readonly cwd?: string;
  readonly place?: ExecPlace;
}

function allows({ entry, argv, path = entry.pattern, cwd = "/w", place = AT }: Row): boolean {
  const rules = { security: "allowlist", ask: "off", askFallback: "deny", allowlist: [entry] } as const;
  const plan = { argv: [...argv], cwd, rawCommand: null, agentId: null, sessionKey: null };
  return judgeExec(rules, plan, path, place).verdict === "allow";
}

const GIT = "/usr/bin/git";
const git = (...args: string[]) => ({ pattern: GIT, args });

describe("an entry with exact arguments", () => {
  const rows: [what: string, row: Row, allowed: boolean][] = [
    ["the same words", { entry: git("status", "-s"), argv: ["git", "status", "-s"] }, true],
    ["no words", { entry: git(), argv: ["git"] }, true],
    ["by its whole path", { entry: git("status"), argv: [GIT, "status"] }, true],
    ["a word more", { entry: git("status"), argv: ["git", "status", "-s"] }, false],
    ["a word less", { entry: git("status", "-s"), argv: ["git", "status"] }, false],
    ["words for none", { entry: git(), argv: ["git", "status"] }, false],
    ["another order", { entry: git("a", "b"), argv: ["git", "b", "a"] }, false],
    ["two words for one", { entry: git("a b"), argv: ["git", "a", "b"] }, false],
    ["another case", { entry: git("status"), argv: ["git", "Status"] }, false],
    ["another program", { entry: git("status"), argv: ["hg", "status"], path: "/usr/bin/hg" }, false],
    ["by another name", { entry: git("status"), argv: ["git-shell", "status"] }, false],
    ["a profile does not count", { entry: { pattern: "/bin/cat", args: ["a"] }, argv: ["cat", "b"] }, false],
    ["nor that it misses", { entry: { pattern: "/bin/cat", args: ["/etc/hosts"] }, argv: ["cat", "/etc/hosts"] }, true],
    ["any arguments beside it", { entry: { ...git("a"), anyArguments: true }, argv: ["git", "b"] }, false],
    ["in its directory", { entry: { ...git("a"), cwd: "/w/x" }, argv: ["git", "a"], cwd: "/w/x" }, true],
    ["in another directory", { entry: { ...git("a"), cwd: "/w/x" }, argv: ["git", "a"], cwd: "/w" }, false],
    ["a file that is many programs", { entry: { pattern: "/bin/busybox", args: ["a"] }, argv: ["cat", "a"] }, false],
    ["a program of the workspace", { entry: { pattern: "/w/run", args: [] }, argv: ["./run"] }, false],
    ["one beside it", { entry: { pattern: "/w2/run", args: [] }, argv: ["/w2/run"] }, true],
  ];
  for (const [what, row, allowed] of rows) {
    it(`${what}: ${allowed ? "passes" : "is a miss"}`, () => assert.equal(allows(row), allowed));
  }

  const runners: [path: string, args: string[], allowed: boolean][] = [
    ["/usr/bin/bash", ["/opt/job.sh", "-c"], true],
    ["/usr/bin/python3", ["/opt/job.py", "x"], true],
    ["/usr/bin/bash", ["-c", "ls"], false],
    ["/usr/bin/bash", ["job.sh"], false],
    ["/usr/bin/bash", ["./job.sh"], false],
    ["/usr/bin/bash", ["/w/job.sh"], false],
    ["/usr/bin/bash", ["/opt/../w/job.sh"], false],
    ["/usr/bin/bash", [], false],
    ["/usr/bin/python3", ["-m", "http.server"], false],
    ["/usr/bin/node", ["-r", "/opt/x.js"], false],
    ["/usr/bin/java", ["-jar", "x.jar"], false],
    ["/usr/bin/sudo", ["systemctl", "restart", "nginx"], true],
    ["/usr/bin/timeout", ["10", "/opt/job"], true],
    ["/usr/bin/timeout", ["10", "./job"], false],
    ["/usr/bin/timeout", ["10", "a/job"], false],
    ["/usr/bin/timeout", ["10", "sh", "job"], false],
    ["/usr/bin/env", ["-S", "python3", "x.py"], false],
    ["/usr/bin/start-stop-daemon", ["--start", "--exec=./x"], false],
    ["/usr/bin/start-stop-daemon", ["--start", "--exec=/bin/sh"], false],
  ];
  for (const [path, args, allowed] of runners) {
    it(`${path} ${args.join(" ")}: ${allowed ? "passes" : "stays a miss, since agents write what runs"}`, () =>
      assert.equal(allows({ entry: { pattern: path, args }, argv: [path.split("/").at(-1) ?? "", ...args] }), allowed));
  }

  it("is a miss for an interpreter where nothing is known of the workspace", () => {
    const row = { entry: { pattern: "/usr/bin/bash", args: ["/opt/job.sh"] }, argv: ["bash", "/opt/job.sh"] };
    assert.equal(allows({ ...row, place: {} }), false);
  });
});

describe("an entry with any arguments", () => {
  const rows: [path: string, argv: string[], allowed: boolean][] = [
    [GIT, ["git", "-c", "alias.x=!id", "x"], true],
    ["/opt/tool", ["tool", "--anything"], true],
    ["/usr/bin/vim.basic", ["vi", "a"], true],
    ["/w/tool", ["tool"], false],
    ["/w/bin/tool", ["./bin/tool"], false],
    ["/bin/busybox", ["rm", "-r", "a"], false],
    ["/usr/bin/bash", ["bash", "/opt/job.sh"], false],
    ["/usr/bin/env", ["env", "ls"], false],
    ["/usr/bin/python3.12", ["python3", "/opt/job.py"], false],
    ["/opt/renamed", ["bash", "/opt/job.sh"], false],
    ["/usr/bin/bash", ["renamed", "/opt/job.sh"], false],
    ["/lib64/ld-linux-x86-64.so.2", ["ld-linux-x86-64.so.2", "/bin/ls"], false],
    ["/usr/bin/setarch", ["linux64", "ls"], false],
  ];
  for (const [path, argv, allowed] of rows) {
    it(`${argv.join(" ")} (${path}): ${allowed ? "passes" : "is a miss"}`, () => {
      assert.equal(allows({ entry: { pattern: path, anyArguments: true }, argv, path }), allowed);
      assert.equal(allows({ entry: { pattern: "/**", anyArguments: true }, argv, path }), allowed);
      assert.equal(allows({ entry: { pattern: path, anyArguments: false }, argv, path }), false, "false is absent");
    });
  }
});

describe("a path inside the place of a command", { skip: process.platform === "win32" }, () => {
  it("is one with links followed, as far as it is there", (t) => {
    const top = directory(t);
    const root = join(top, "w");
    for (const path of [join(root, "sub"), join(root, "state")]) mkdirSync(path, { recursive: true });
    put(join(top, "other", "secret"), "s");
    put(join(root, "file"), "f");
    symlinkSync(join(top, "other", "secret"), join(root, "link"));
    symlinkSync(join(top, "other"), join(root, "sub", "dir"));
    symlinkSync(join(top, "nowhere"), join(root, "dangling"));
    symlinkSync("file", join(root, "alias"));
    symlinkSync(root, join(top, "door"));
    const cat = (path: string, cwd = root, place: ExecPlace = {}) =>
      allows({
        entry: { pattern: "/bin/cat" },
        argv: ["cat", path],
        cwd,
        place: { root, closed: [join(root, "state")], isWorkspace: true, ...place },
      });

    const inside = ["file", "missing", "missing/deep", "alias", "sub", "./file", join(root, "file")];
    for (const path of inside) assert.equal(cat(path), true, path);
    for (const path of ["../file", "../../w/file"]) assert.equal(cat(path, join(root, "sub")), true, path);
    assert.equal(cat("..", join(root, "sub"), { closed: [] }), true);
    assert.equal(
      cat(join(top, "door", "file"), root, { root: join(top, "door") }),
      true,
      "the workspace is behind a link",
    );
    const door = { root: join(top, "door"), isWorkspace: true };
    for (const path of ["run", "missing"]) {
      const entry = { pattern: join(root, path), args: [] };
      assert.equal(
        allows({ entry, argv: [`./${path}`], cwd: root, place: door }),
        false,
        "a program of that workspace",
      );
    }

    const links = ["link", "./link", "sub/dir", "sub/dir/secret", "sub/dir/new", "dangling", "dangling/x"];
    const outside = [...links, `missing/${"a/".repeat(20)}`, "/", "~/../.."];
    for (const path of outside) assert.equal(cat(path), false, path);
    for (const path of ["..", "../w", "../other/secret", "sub/../file", "sub/dir/../secret", "file\0"]) {
      assert.equal(cat(path), false, JSON.stringify(path));
    }
    for (const path of ["state", "state/token", "STATE/token", ".", root]) assert.equal(cat(path), false, path);
    assert.equal(cat("..", join(root, "sub")), false, "what belongs to others lies below it");

    assert.equal(cat("file", join(top, "other")), false, "another working directory");
    for (const root of ["/", ""])
      assert.equal(cat("file", top, { root, closed: [] }), false, "a workspace that is everything");
    assert.equal(cat("link", root, { isElsewhere: true }), true, "another machine follows its links itself");
    assert.equal(cat("../other/secret", root, { isElsewhere: true }), false);
  });
});
