/** The README tells the truth: what it quotes is what stands in the file, and what it links to is there. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { ERRORS, HOOKS } from "@svc/sdk";
import { root } from "./checkout.ts";
import { cleanEnvironment } from "./gateway-process.ts";

const readme = readFileSync(join(root, "README.md"), "utf8");
const quotes = [...readme.matchAll(/```\w+\n\/\/ ((?:examples)\/\S+)\n([\s\S]*?)```/g)].map(
  ([, path = "", text = ""]) => ({ path, text }),
);

describe("the README", () => {
  it("quotes the examples", () => {
    assert.deepEqual(
      quotes.map(({ path }) => path),
      [
        "examples/webhook-transform/hooks/transforms/github-issue.ts",
        "examples/ask-first/ask-first.ts",
        "examples/own-namespace/greet.ts",
        "examples/trimmed-gateway/gateway.ts",
        "examples/trimmed-gateway/svc.json",
      ],
    );
  });

  for (const { path, text } of quotes) {
    it(`quotes ${path} as it stands`, () => assert.equal(text, readFileSync(join(root, path), "utf8")));
  }

  it("shows configurations that are valid", () => {
    const examples = [...readme.matchAll(/```json5\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
    assert.ok(examples.length > 0);
    const keys = Object.fromEntries([...readme.matchAll(/\$\{(\w+)\}/g)].map(([, name = ""]) => [name, "a-key"]));
    for (const text of examples) {
      const stateDir = mkdtempSync(join(tmpdir(), "svc-readme-"));
      writeFileSync(join(stateDir, "svc.json"), text);
      const { stdout } = spawnSync(process.execPath, [join(root, "host/cli/svc.js"), "config", "validate", "--json"], {
        env: cleanEnvironment(stateDir, keys),
        encoding: "utf8",
      });
      rmSync(stateDir, { recursive: true });
      assert.deepEqual((JSON.parse(stdout) as { issues: unknown; warnings: unknown }).issues, []);
      assert.deepEqual((JSON.parse(stdout) as { warnings: unknown }).warnings, []);
    }
  });

  it("links to what is there", () => {
    const links = [...readme.matchAll(/\]\(([^)#:]+)\)/g)].map(([, to = ""]) => to);
    assert.ok(links.length > 5);
    assert.deepEqual(
      links.filter((to) => !existsSync(join(root, to))),
      [],
    );
  });

  it("names commands of package.json that exist", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    const named = [...readme.matchAll(/npm run (\w+)/g)].map(([, name = ""]) => name);
    assert.deepEqual(
      named.filter((name) => !(name in scripts)),
      [],
    );
  });
});

it("nobody is told to run npx svc, which is a stranger's package outside of the checkout", () => {
  const words = ["grep", "-l", "npx svc", "--", ".", ":!CHANGELOG.md", ":!README.md", ":!test"]; // the README says why not
  assert.equal(spawnSync("git", words, { cwd: root, encoding: "utf8" }).stdout, "");
});

describe("the READMEs of plugins and examples", () => {
  const files = ["plugins", "examples"].flatMap((room) =>
    readdirSync(join(root, room)).map((name) => `${room}/${name}/README.md`),
  );

  it("are there, and link to what is there", () => {
    assert.ok(files.length > 20);
    const broken = files.flatMap((file) => {
      const links = [...readFileSync(join(root, file), "utf8").matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)];
      return links
        .map(([, to = ""]) => join(root, dirname(file), to))
        .filter((to) => !existsSync(to))
        .map((to) => `${file}: ${to}`);
    });
    assert.deepEqual(broken, []);
  });
});

it("every hook of the catalogue says when it runs, what a return means and what a throw does", () => {
  for (const [key, hook] of Object.entries(HOOKS)) {
    assert.equal(hook.name, key);
    for (const fact of [hook.when, hook.returns, hook.throws]) assert.match(fact, /^[A-Z`].*\.$/, `${key}: "${fact}"`);
  }
});

it("every error of the catalogue has a status and a sentence", () => {
  for (const [code, { http, meaning }] of Object.entries(ERRORS)) {
    assert.ok(http >= 400 && http < 600, code);
    assert.match(meaning, /\.( \(choice\))?$/, code);
  }
});
