/** Every profile, whatever it names: generated from the profiles themselves, and from what each of them must never name. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { type ExecRules, judgeExec, meansProfiled, PROFILED, runnerOf } from "@svc/kit/exec";
import { misfitOf } from "../../../../sdk/kit/exec/profiles/fit.ts";
import { PROFILES } from "../../../../sdk/kit/exec/profiles/index.ts";
import type { Profile } from "../../../../sdk/kit/exec/profiles/profile.ts";

const isInside = (path: string) => !path.startsWith("/") && !path.includes("..");
const passes = (profile: Profile, ...args: string[]) => misfitOf(profile, args, isInside) === undefined;
const of = (name: string) => PROFILES.get(name) ?? assert.fail(name);
const flagsOf = ({ flags = "" }: Profile) => flags.split(/\s+/).filter(Boolean);
const options = [...PROFILES].filter(([, { style }]) => style === undefined);

/** Paths outside, in the forms that programs take for paths. */
const OUTSIDE = ["/etc/passwd", "../x", "./../x", "a/../../x", "@/etc/passwd", "@a", ""];

/** Flags that write, run a program, load code, or take names of files from a file. */
const NEVER: Readonly<Record<string, string>> = {
  cat: "",
  date: "-s --set -f --file -D",
  df: "--sync",
  diff: "-l --paginate -X --exclude-from --from-file --to-file -S",
  du: "--files0-from -X --exclude-from -L -D -H",
  file: "-m --magic-file -M -C --compile -f --files-from -z --uncompress -Z -S --no-sandbox -s --special-files -p",
  find: "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from -L -H -follow -D -f",
  grep: "-R --dereference-recursive -S -p --exclude-from -d -D",
  hexdump: "-f --format-file -e",
  hostname: "-b -F --file",
  jq: "-f --from-file -L --library-path --argfile --args --jsonargs --run-tests",
  base64: "-o --output --input -I -O",
  md5sum: "-c --check",
  sha256sum: "-c --check",
  cksum: "-c --check",
  rg: "--pre --pre-glob --hostname-bin -z --search-zip -L --follow --ignore-file --type-add --debug",
  sort: "-o --output -T --temporary-directory --compress-program --files0-from --random-source --batch-size",
  stat: "-f -F",
  tail: "-F --follow --retry --pid",
  tree: "-o --output -R -H -T -l --fromfile --fromtabfile --info",
  wc: "--files0-from",
  xxd: "-r -revert -o -d",
  strings: "-T --target @x",
  free: "-s -c",
};

describe("no profile", () => {
  it("belongs to a program whose business is to run others", () => {
    for (const name of PROFILED) assert.equal(runnerOf(name), undefined, name);
  });

  for (const [name, text] of Object.entries(NEVER)) {
    for (const flag of text.split(" ").filter(Boolean)) {
      it(`of ${name} names ${flag}, in any spelling`, () => {
        const profile = of(name);
        const forms = [[flag], [flag, "a"], ["a", flag, "a"], [`${flag}=a`], [`${flag}a`], ["--", flag, "a"]];
        const first = flagsOf(profile).find((known) => /^-[a-zA-Z]$/.test(known));
        if (/^-[a-zA-Z]$/.test(flag) && first !== undefined && !profile.style) forms.push([first + flag.slice(1), "a"]);
        for (const args of forms) assert.equal(passes(profile, ...args), false, JSON.stringify(args));
      });
    }
  }

  for (const [name, profile] of PROFILES) {
    if (profile.style === "raw") continue;
    it(`of ${name} takes a flag it does not name`, () => {
      const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
      const known = new Set([...flagsOf(profile), ...Object.keys(profile.values ?? {})]);
      for (const letter of letters) {
        if (known.has(`-${letter}`) || (profile.digits && /\d/.test(letter))) continue;
        assert.equal(passes(profile, `-${letter}`), false, letter);
        assert.equal(passes(profile, "--", `-${letter}`), false, letter);
      }
      const longs = [...flagsOf(profile), ...Object.keys({ ...profile.values, ...profile.optional })];
      for (const long of longs.filter((flag) => /^--..../.test(flag))) {
        const short = long.slice(0, -1);
        if (!longs.includes(short)) assert.equal(passes(profile, short, "a"), false, `${long} cut short`);
        assert.equal(passes(profile, `${long}x`), false, `${long} with more`);
      }
    });

    it(`of ${name} takes a path outside, wherever one may stand`, () => {
      const { first, operands } = profile;
      for (const outside of OUTSIDE) {
        const before = first === undefined ? [] : ["x"];
        if (operands === "path" && passes(profile, ...before, "a")) {
          assert.equal(passes(profile, ...before, outside), false, outside);
          assert.equal(passes(profile, ...before, "a", outside), false, outside);
          if (!profile.style) assert.equal(passes(profile, ...before, "--", outside), false, outside);
        }
        for (const [flag, kind] of Object.entries(profile.values ?? {})) {
          for (const [at, one] of [kind].flat().entries()) {
            if (one !== "path") continue;
            const words = [kind].flat().map((_, nth) => (nth === at ? outside : "a"));
            assert.equal(passes(profile, flag, ...words), false, `${flag} ${outside}`);
            assert.equal(passes(profile, ...before, flag, ...words, "a"), false, `${flag} ${outside}`);
            if (words.length > 1 || profile.style || outside === "") continue;
            assert.equal(passes(profile, flag.startsWith("--") ? `${flag}=${outside}` : flag + outside), false, flag);
          }
        }
      }
    });
  }

  for (const [name, profile] of options) {
    it(`of ${name} lets a word with a dash be a value of its own, or follow --`, () => {
      for (const [flag, kind] of Object.entries(profile.values ?? {})) {
        if (kind === "text" || kind === "path") assert.equal(passes(profile, flag, "--output=a"), false, flag);
      }
      assert.equal(passes(profile, "--", "--output=a"), false);
    });

    if (profile.operands !== "path") continue;
    it(`of ${name} lets text behind an operand be a path outside: some programs take it for an operand`, () => {
      for (const [flag, kind] of Object.entries(profile.values ?? {})) {
        if (kind !== "text" || profile.most === 1) continue;
        const before = profile.first === undefined ? ["a"] : ["x", "a"];
        assert.equal(passes(profile, ...before, flag, "/etc/passwd"), false, flag);
      }
    });
  }
});

describe("profiles", () => {
  it("leave standard input, values and operands as they are known", () => {
    assert.ok(passes(of("grep"), "-e", "/not/a/path", "a"));
    assert.ok(passes(of("grep"), "/not/a/path"));
    assert.ok(passes(of("cat"), "-"));
    assert.ok(passes(of("cut"), "-d", "-", "-f1", "a"));
    assert.ok(!passes(of("grep"), "-e", "x", "/a/path"), "with -e the first operand is a path");
    assert.ok(!passes(of("grep"), "/a/path", "-e", "x"), "wherever -e stands");
    assert.ok(!passes(of("uniq"), "a", "b"), "the second one is written");
    assert.ok(!passes(of("head"), "-n"), "without its value");
    assert.ok(!passes(of("cat"), ...Array.from({ length: 201 }, () => "a")), "too many to look at");
  });

  it("hold back what they never name, whatever stands around it", () => {
    const rows = Object.entries(NEVER).filter(([, text]) => text !== "");
    const row = fc.constantFrom(...rows).chain(([name, text]) => {
      const profile = of(name);
      const known = [...flagsOf(profile), ...Object.keys({ ...profile.values, ...profile.optional })];
      const word = fc.oneof(fc.constantFrom(...known), fc.constantFrom("--", "-", "a", "5", "+5", "x=y", "-1"));
      return fc.tuple(
        fc.constant(profile),
        fc.array(word, { maxLength: 4 }),
        fc.tuple(fc.constantFrom(...text.split(" ")), fc.constantFrom("", "=a", "a")).map((both) => both.join("")),
        fc.array(word, { maxLength: 3 }),
      );
    });
    fc.assert(
      fc.property(row, ([profile, before, never, after]) => !passes(profile, ...before, never, ...after)),
      { numRuns: 20_000 },
    );
  });

  it("look into the working directory only where that is inside", () => {
    const outside = (name: string, ...args: string[]) => misfitOf(of(name), args, (path) => path === "a");
    for (const name of ["ls", "find", "du", "tree"]) {
      assert.match(outside(name) ?? "", /may not read this directory/, name);
      assert.equal(outside(name, "a"), undefined, name);
    }
    assert.match(outside("rg", "x") ?? "", /this directory/);
    assert.match(outside("grep", "-r", "x") ?? "", /this directory/);
    assert.match(outside("grep", "-rf", "a") ?? "", /this directory/, "a file of patterns is no place to look");
    assert.match(outside("find", "-newer", "a") ?? "", /this directory/);
    assert.equal(outside("uname", "-a"), undefined);
  });

  it("are those of the system's programs only, by their own names", () => {
    const rules: ExecRules = {
      security: "allowlist",
      ask: "off",
      askFallback: "deny",
      allowlist: [{ pattern: "/**" }],
    };
    const verdict = (path: string, called = path, root = "/w") => {
      const plan = { argv: [called, "a"], cwd: "/w", rawCommand: null, agentId: null, sessionKey: null };
      return judgeExec(rules, plan, path, { root, isWorkspace: true }).verdict;
    };
    const allowed = [
      ["/bin/cat", "cat"],
      ["/usr/bin/cat", "/usr/bin/cat"],
      ["/usr/local/bin/cat", "cat"],
      ["/opt/homebrew/Cellar/coreutils/9.5/bin/cat", "cat"],
      ["/nix/store/0abc-coreutils-9.5/bin/coreutils", "cat"],
      ["/usr/lib/cargo/bin/coreutils/cat", "cat"],
      ["/bin/busybox", "cat"],
      ["/bin/toybox", "/bin/cat"],
    ] as const;
    for (const [path, called] of allowed) assert.equal(verdict(path, called), "allow", path);
    const denied = [
      ["/w/cat", "cat"],
      ["/home/ada/.local/bin/cat", "cat"],
      ["/opt/homebrew/Cellar/x/bin/cat", "cat"],
      ["/usr/bin/cat", "ls"],
      ["/usr/bin/cat", "evil"],
      ["/usr/bin/bash", "cat"],
      ["/bin/busybox", "busybox"],
      ["/bin/busybox", "sh"],
      ["/bin/busybox", "-cat"],
      ["/home/ada/busybox", "cat"],
      ["/usr/bin/constructor", "constructor"],
    ] as const;
    for (const [path, called] of denied) assert.equal(verdict(path, called), "deny", `${called} (${path})`);
    assert.equal(verdict("/usr/bin/cat", "cat", "/usr/bin"), "deny", "the workspace is a directory of the system");
  });

  it("are known by patterns that can mean their programs", () => {
    const brew = ["/opt/homebrew/Cellar/ripgrep/*/bin/rg", "/nix/store/*/bin/*"];
    for (const pattern of ["/usr/bin/rg", "/bin/busybox", "/usr/bin/*", "/**", "/usr/*/rg", ...brew]) {
      assert.ok(meansProfiled(pattern), pattern);
    }
    for (const pattern of [
      "/usr/bin/git",
      "~/tools/*",
      "/opt/rg",
      "~/busybox",
      "rg",
      "/usr/bin/g?t",
      "/opt/*/rg",
      "/nix/store/*/bin/git",
    ]) {
      assert.ok(!meansProfiled(pattern), pattern);
    }
  });

  it("are all named in the README of the plugin approvals", () => {
    const readme = readFileSync(new URL("../../../../../plugins/approvals/README.md", import.meta.url), "utf8");
    const named = new Set([...readme.matchAll(/`([^`\n]+)`/g)].flatMap(([, words = ""]) => words.split(" ")));
    const hidden = ["which.debianutils"];
    assert.deepEqual(
      PROFILED.filter((name) => !named.has(name)).filter((name) => !hidden.includes(name)),
      [],
    );
  });
});
