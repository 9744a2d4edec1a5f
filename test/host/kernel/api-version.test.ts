/** The plugin API range a plugin requires: checked before its code is imported; a refusal names the next step. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { API_VERSION } from "@svc/sdk";
import { testGateway } from "@svc/sdk/testing";
import { directory } from "../../directory.ts";

const [major = 0, minor = 0] = API_VERSION.split(".").map(Number);
const next = `${major}.${minor + 1}.0`;

const NEEDS = (range: string) => `it needs plugin API ${range}, this gateway has ${API_VERSION}`;
const TOO_NEW = (range: string) => `${NEEDS(range)}; upgrade the gateway, or install an older version of the plugin`;
const TOO_OLD = (range: string) => `${NEEDS(range)}; install a version of the plugin made for ${API_VERSION}`;

const MISSING = /package\.json, key "svc": "api" is missing; write a version range, e\.g\. "\^\d+\.\d+\.\d+"$/;

/** Values of `svc.api`, each with the reason of the refusal; `undefined`: it runs. */
const forms: [api: unknown, reason: string | RegExp | undefined][] = [
  [`^${major}.0.0`, undefined],
  [API_VERSION, undefined],
  [`${major}.x`, undefined],
  ["*", undefined],
  [`>=${major - 1}.0.0 <${major + 1}`, undefined],
  [`^${major}.0.0-beta.1`, undefined],
  [`^${major - 1}.9.0 || ^${major}.0.0`, undefined],
  [undefined, MISSING],
  ["", MISSING],
  [1, MISSING],
  ["latest", `its api "latest" is not a version range; write e.g. "^${API_VERSION}"`],
  ["^1.0.0 and up", `its api "^1.0.0 and up" is not a version range; write e.g. "^${API_VERSION}"`],
  [`^${next}`, TOO_NEW(`^${next}`)],
  [`^${major + 1}.0.0`, TOO_NEW(`^${major + 1}.0.0`)],
  [`${next}-rc.1`, TOO_NEW(`${next}-rc.1`)],
  [`^${major - 1}.9.0`, TOO_OLD(`^${major - 1}.9.0`)],
  [`<${major}.0.0`, TOO_OLD(`<${major}.0.0`)],
  [`${major}.0.0-rc.1`, TOO_OLD(`${major}.0.0-rc.1`)],
];

describe("the plugin API range of a plugin", () => {
  it("decides whether it runs; the code of a refused plugin is not imported", async (t) => {
    const stateDir = directory(t);
    const names = forms.map((_, index) => `form-${index}`);
    for (const [index, [api]] of forms.entries()) {
      const id = `form-${index}`;
      const directory = join(stateDir, id);
      await mkdir(directory);
      const json = { name: id, version: "1.0.0", type: "module", svc: { id, api, entry: "./plugin.ts" } };
      await writeFile(join(directory, "package.json"), JSON.stringify(json));
      const mark = JSON.stringify(join(directory, "imported"));
      await writeFile(
        join(directory, "plugin.ts"),
        `import { writeFileSync } from "node:fs";
import { definePlugin } from "@svc/sdk";
writeFileSync(${mark}, "");
export default definePlugin({ id: "${id}", api: ${JSON.stringify(api)}, setup() {} });`,
      );
    }
    const use = names.map((name) => `./${name}`);
    const { gateway } = await testGateway(t, { stateDir, config: { plugins: { use } } });
    const reports = gateway.plugins();
    for (const [index, [api, reason]] of forms.entries()) {
      const report = reports.find(({ id }) => id === `form-${index}` || id === `./form-${index}`);
      const told = `${JSON.stringify(api)}: ${report?.state} ${report?.reason}`;
      assert.equal(report?.state, reason === undefined ? "active" : "blocked", told);
      if (typeof reason === "string") assert.equal(report?.reason, reason);
      else if (reason) assert.match(report?.reason ?? "", reason);
      assert.equal(existsSync(join(stateDir, `form-${index}`, "imported")), reason === undefined, told);
    }
  });

  it("is checked again in the code, if it differs from the package", async (t) => {
    const stateDir = directory(t);
    const code = `import { definePlugin } from "@svc/sdk";\nexport default definePlugin({ id: "late", api: "^${next}", setup() {} });`;
    await writeFile(join(stateDir, "late.ts"), code);
    const { gateway } = await testGateway(t, { stateDir, config: { plugins: { use: ["./late.ts"] } } });
    assert.deepEqual(
      gateway.plugins().map(({ id, state, reason }) => [id, state, reason]),
      [["late", "blocked", TOO_NEW(`^${next}`)]],
    );
  });
});
