import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { installationOf, type PlaceFacts, placeOf } from "../../../plugins/update/install/place.ts";

const project: PlaceFacts = {
  entries: ["package.json", "node_modules"],
  packageJson: { dependencies: { "@svc/host": "0.1.0", "@svc/plugin-config": "0.1.0" } },
  isOwn: true,
  isWritable: true,
  own: [
    { name: "@svc/host", isLink: false },
    { name: "@svc/plugin-config", isLink: false },
  ],
  platform: "linux",
};
const checkout: PlaceFacts = {
  ...project,
  entries: [".git", "package.json"],
  packageJson: { workspaces: ["host"] },
  own: [],
};

const MODULES = "/opt/gw/node_modules/@svc/host";
const decide = (facts: Partial<PlaceFacts> = {}, host = MODULES) =>
  installationOf(placeOf(host), { ...project, ...facts });

describe("how a gateway is installed", () => {
  it("is derived from the path of its host", () => {
    assert.deepEqual(placeOf("/srv/svc/host"), { kind: "checkout", root: "/srv/svc" });
    assert.deepEqual(placeOf(MODULES), { kind: "modules", root: "/opt/gw", host: "node_modules/@svc/host" });
    const nested = "/usr/lib/node_modules/svc/node_modules/@svc/host";
    const host = "node_modules/svc/node_modules/@svc/host";
    assert.deepEqual(placeOf(nested), { kind: "modules", root: "/usr/lib", host });
  });

  it("is a checkout with git and workspaces", () => {
    const found = installationOf(placeOf("/srv/svc/host"), checkout);
    assert.deepEqual(found, { mode: "git", root: "/srv/svc", host: "host" });
  });

  it("is a directory of npm that lists the host and the requested packages", () => {
    assert.deepEqual(decide(), {
      mode: "npm",
      root: "/opt/gw",
      host: "node_modules/@svc/host",
      layout: "project",
      packages: ["@svc/host", "@svc/plugin-config"],
    });
  });

  it("is global below lib without a package.json", () => {
    const found = decide({ packageJson: undefined }, "/usr/lib/node_modules/@svc/host");
    assert.deepEqual([found.mode, "layout" in found && found.layout, found.refusal], ["npm", "global", undefined]);
  });

  const depends = (dependencies: object): Partial<PlaceFacts> => ({ packageJson: { dependencies } });
  const refusals: [why: string, facts: Partial<PlaceFacts>, mode: string, reason: string][] = [
    ["packages of other projects", depends({ "@svc/host": "1.0.0", other: "1.0.0" }), "npm", "other-packages"],
    ["a package from a file", depends({ "@svc/host": "file:../x.tgz" }), "npm", "not-from-registry"],
    ["a linked package", { own: [{ name: "@svc/host", isLink: true }] }, "npm", "linked-package"],
    ["a package.json without the host", depends({ "@svc/sdk": "1.0.0" }), "npm", "unknown-install"],
    ["no package.json", { packageJson: undefined }, "unknown", "unknown-install"],
    ["pnpm", { entries: ["pnpm-lock.yaml"] }, "pnpm", "package-manager"],
    ["bun", { entries: ["bun.lock"] }, "bun", "package-manager"],
    ["yarn", { entries: ["yarn.lock"] }, "unknown", "package-manager"],
    ["another owner", { isOwn: false }, "npm", "foreign-owner"],
    ["a place that cannot be written to", { isWritable: false }, "npm", "not-writable"],
  ];
  for (const [why, facts, mode, reason] of refusals) {
    it(`is not updated with ${why}, and has the steps by hand`, () => {
      const { mode: found, refusal } = decide(facts);
      assert.deepEqual([found, refusal?.reason], [mode, reason]);
      assert.ok(refusal && refusal.byHand.length > 0 && refusal.why.length > 10);
    });
  }

  it("is not updated without git and npm", () => {
    const reasonFor = (facts: Partial<PlaceFacts>) =>
      installationOf(placeOf("/srv/svc/host"), { ...checkout, ...facts }).refusal?.reason;
    assert.equal(reasonFor({ entries: ["package.json"] }), "unknown-install");
    assert.equal(reasonFor({ isWritable: false }), "not-writable");
  });
});
