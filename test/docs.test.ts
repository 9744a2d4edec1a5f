/** The documentation matches the tree: quotes, links, configurations and commands. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { allVerbs } from "@svc/cli";
import { HOOKS } from "@svc/sdk";
import { ERRORS } from "@svc/sdk/errors";
import { root } from "./checkout.ts";
import { cleanEnvironment } from "./gateway-process.ts";

/** Pages for readers. Excluded: templates, which name a future plugin; the changelog and figures, which describe the past. */
const pages = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"], {
  cwd: root,
  encoding: "utf8",
})
  .trim()
  .split("\n")
  .filter((file) => existsSync(join(root, file)) && !/^(?:CHANGELOG|test\/|sdk\/reference\/)|\/templates\//.test(file))
  .map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }));
const blocks = (text: string, language: string) =>
  [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].flatMap(([, is, body = ""]) => (is === language ? [body] : []));

describe("the pages", () => {
  it("quote the examples verbatim; SVC_UPDATE_SNAPSHOT=1 updates the quotes", () => {
    const quoted = new Set<string>();
    for (const { file, text } of pages) {
      const now = text.replace(/(```\w+\n\/\/ (examples\/\S+)\n)[\s\S]*?(?=```)/g, (_, head: string, path: string) => {
        quoted.add(path);
        return head + readFileSync(join(root, path), "utf8");
      });
      if (process.env["SVC_UPDATE_SNAPSHOT"] && now !== text) writeFileSync(join(root, file), now);
      else assert.equal(text, now, file);
    }
    assert.ok(quoted.size > 12);
  });

  it("exist for every plugin and every example", () => {
    const rooms = ["plugins", "examples"].flatMap((room) =>
      readdirSync(join(root, room)).map((name) => join(room, name)),
    );
    const packages = rooms.filter((room) => existsSync(join(root, room, "package.json")));
    assert.deepEqual(
      packages.filter((room) => !existsSync(join(root, room, "README.md"))),
      [],
    );
  });

  it("link to files and headings that exist", () => {
    const anchors = (text: string) =>
      [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
        title
          .toLowerCase()
          .replace(/[^\p{L}\p{N} _-]/gu, "")
          .replaceAll(" ", "-"),
      );
    const broken = pages.flatMap(({ file, text }) =>
      [...text.matchAll(/\]\(([^)#:\s]*)(?:#([^)\s]*))?\)/g)].flatMap(([link, to = "", anchor]) => {
        const target = to === "" ? join(root, file) : join(root, dirname(file), to);
        if (!existsSync(target)) return [`${file}: ${link}`];
        if (anchor === undefined || !target.endsWith(".md")) return [];
        return anchors(readFileSync(target, "utf8")).includes(anchor) ? [] : [`${file}: ${link}`];
      }),
    );
    assert.deepEqual(broken, []);
  });

  it("show whole configurations that are valid", () => {
    const readme = readFileSync(join(root, "README.md"), "utf8");
    const examples = blocks(readme, "json5");
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
      const { issues, warnings } = JSON.parse(stdout) as { issues: unknown; warnings: unknown };
      assert.deepEqual([issues, warnings], [[], []]);
    }
  });

  it("name commands of `svc` and scripts of package.json that exist", async () => {
    const verbs = (await allVerbs()).map(({ name }) => name.split(" "));
    const groups = new Set(verbs.flatMap((words) => words.map((_, at) => words.slice(0, at + 1).join(" "))));
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object };
    const unknown = pages.flatMap(({ file, text }) =>
      blocks(text, "sh").flatMap((block) => [
        ...[...block.matchAll(/(?:^|&& |[=$][(]| )svc ([a-z][a-z -]*)/gm)].flatMap(([whole, words = ""]) => {
          const known = words.trim().split(/ +/);
          while (known.length > 0 && !groups.has(known.join(" "))) known.pop();
          return known.length > 0 ? [] : [`${file}: ${whole}`];
        }),
        ...[...block.matchAll(/npm run ([\w:]+)/g)].flatMap(([whole, name = ""]) =>
          name in scripts || file.startsWith("examples/") ? [] : [`${file}: ${whole}`],
        ),
      ]),
    );
    assert.deepEqual(unknown, []);
  });

  it("never suggest npx svc, which outside of the checkout runs an unrelated package", () => {
    const words = ["grep", "-l", "npx svc", "--", ".", ":!CHANGELOG.md", ":!README.md", ":!test"]; // the README says why not
    assert.equal(spawnSync("git", words, { cwd: root, encoding: "utf8" }).stdout, "");
  });
});

it("every hook of the catalogue documents when it runs and the effect of a return and of a throw", () => {
  for (const [key, hook] of Object.entries(HOOKS)) {
    assert.equal(hook.name, key);
    for (const fact of [hook.when, hook.returns, hook.throws]) assert.match(fact, /^[A-Z`].*\.$/, `${key}: "${fact}"`);
  }
});

it("every error of the catalogue has a status and a sentence [W2.24]", () => {
  for (const [code, { http, meaning }] of Object.entries(ERRORS)) {
    assert.ok(http >= 400 && http < 600, code);
    assert.match(meaning, /\.( \(choice\))?$/, code);
  }
});
