// long: starts whole programs
/** `webhooks.init`: an editor knows the types of transforms, without further files in the directory. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { webhooks } from "@svc/sdk/webhooks";
import { root } from "../../checkout.ts";
import { webhookGateway } from "../../host/webhooks/webhook-gateway.ts";

const GOOD = `import { createHash } from "node:crypto";
import { defineTransform, type Transform, Type } from "@svc/sdk/transform";
import { invalidRequest } from "@svc/sdk";
import { titleOf } from "./titles";

/** Code that the compiler must accept: every shape of a result. */
export default defineTransform({
  payload: Type.Object({ title: Type.String(), urgent: Type.Optional(Type.Boolean()) }),
  examples: [{ name: "calm", payload: { title: "a" }, expect: { kind: "agent", message: "a" } }],
  async transform({ payload, headers, url, path, signal }) {
    if (payload.title === "") return null;
    if (headers["x-test"] === url.searchParams.get("test") && path === "test" && !signal.aborted) return undefined;
    if (payload.urgent) return { kind: "wake", text: titleOf(payload.title), mode: "now" };
    return { kind: "agent", message: payload.title, sessionKey: createHash("sha256").digest("hex"), deliver: false };
  },
});
export const ticket = defineTransform({ payload: Type.Unknown(), transform: () => ({ kind: "ticket", labels: ["a"] }) });
export const plain: Transform<{ id: number }> = ({ payload }) => ({ text: String(payload.id) });
export const refuse = () => invalidRequest("no");
`;
const TITLES = "export const titleOf = (title: string) => title.toUpperCase();\n";

/** One change each, and the resulting error of the compiler. */
const BAD: readonly (readonly [name: string, from: string, to: string, says: RegExp])[] = [
  ["a misspelt field of the payload", "payload.urgent", "payload.urgnt", /'urgnt' does not exist/],
  ["a misspelt field of the result", "deliver: false", "delivr: false", /'delivr'|delivr/],
  ["a field of the other kind", 'mode: "now"', "timeoutSeconds: 3", /timeoutSeconds/],
  ["a value of another type", "deliver: false", 'deliver: "no"', /'"no"' is not assignable to type 'boolean/],
  ["a choice there is none of", 'mode: "now"', 'mode: "later"', /"later"/],
  ["a misspelt import", "defineTransform, type", "defineTransfrm, type", /'defineTransfrm'|has no exported member/],
];

async function prepared(t: TestContext): Promise<string> {
  const gateway = await webhookGateway(t);
  const { directory, written } = await gateway.client.call(webhooks.init, {});
  assert.deepEqual(written, [join(directory, "tsconfig.json")]);
  assert.deepEqual(await readdir(directory), ["tsconfig.json"]);
  await writeFile(join(directory, "build.ts"), GOOD);
  await writeFile(join(directory, "titles.ts"), TITLES);
  return directory;
}

/** Errors of the compiler; empty if there are none. */
function compile(directory: string): string {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const { stdout, stderr } = spawnSync(process.execPath, [compiler, "--pretty", "false", "-p", directory], {
    encoding: "utf8",
  });
  return stdout + stderr;
}

describe("the transforms directory in an editor", () => {
  it("takes a correct transform, and refuses each mistake", async (t) => {
    const directory = await prepared(t);
    assert.equal(compile(directory), "");
    for (const [index, [name, from, to]] of BAD.entries()) {
      assert.ok(GOOD.includes(from), name);
      await writeFile(join(directory, `bad-${index}.ts`), GOOD.replace(from, to));
    }
    const said = compile(directory).split(/^(?=\S)/m);
    for (const [index, [name, , , says]] of BAD.entries()) {
      const mine = said.filter((message) => message.includes(`bad-${index}.ts(`)).join("");
      assert.match(mine, says, name);
    }
    assert.ok(!said.some((message) => message.includes("build.ts(")));
  });

  it("does so through a link, too", async (t) => {
    const directory = await prepared(t);
    const other = await mkdtemp(join(tmpdir(), "svc-link-"));
    t.after(() => rm(other, { recursive: true, force: true }));
    await mkdir(join(other, "a/b"), { recursive: true });
    await symlink(directory, join(other, "a/b/transforms"));
    assert.equal(compile(join(other, "a/b/transforms")), "");
  });

  it("does so with an SDK that was installed and not linked", async (t) => {
    const directory = await prepared(t);
    const installed = await mkdtemp(join(tmpdir(), "svc-installed-"));
    t.after(() => rm(installed, { recursive: true, force: true }));
    const [from, to] = [join(root, "sdk"), join(await realpath(installed), "node_modules/@svc/sdk")];
    await cp(from, to, { recursive: true, filter: (path) => !path.includes(join("sdk", "node_modules")) });
    await cp(await packageDirectory("typebox"), join(installed, "node_modules/typebox"), { recursive: true });
    const file = join(directory, "tsconfig.json");
    const text = await readFile(file, "utf8");
    assert.ok(text.includes(`"${from}/dist/types/transform.d.ts"`));
    await writeFile(file, text.replaceAll(`"${from}/`, `"${to}/`));
    assert.equal(compile(directory), "");
    await writeFile(join(directory, "build.ts"), GOOD.replace("payload.urgent", "payload.urgnt"));
    assert.match(compile(directory), /'urgnt' does not exist/);
  });

  it("updates the path to this installation, and leaves a changed file alone", async (t) => {
    const gateway = await webhookGateway(t);
    const init = () => gateway.client.call(webhooks.init, {});
    const [file = ""] = (await init()).written;
    const text = await readFile(file, "utf8");
    assert.deepEqual((await init()).written, []);
    await writeFile(file, text.replaceAll(join(root, "sdk"), "/somewhere/else"));
    assert.deepEqual((await init()).written, [file]);
    assert.equal(await readFile(file, "utf8"), text);
    for (const own of [text.replace('"strict": true', '"strict": false'), "// mine\n{}", "{}", "[]", "null"]) {
      await writeFile(file, own);
      assert.deepEqual((await init()).written, [], own);
      assert.equal(await readFile(file, "utf8"), own);
    }
  });
});

async function packageDirectory(name: string): Promise<string> {
  return realpath(dirname(join(root, "node_modules", name, "package.json")));
}
