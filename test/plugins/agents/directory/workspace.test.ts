import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { callersPath, workspaceObstacle, workspaceOf } from "../../../../plugins/agents/directory/workspace.ts";

const places = { stateDir: "/state", home: "/home/ada" };

describe("the workspace of an agent", () => {
  const rows: [what: string, isDefault: boolean, own: string | undefined, ofAll: string | undefined, path: string][] = [
    ["of the default agent lies in the state directory", true, undefined, undefined, "/state/workspace"],
    ["of another agent lies there under its id", false, undefined, undefined, "/state/workspace-ops"],
    ["of the default agent is that of the defaults", true, undefined, "~/ws", "/home/ada/ws"],
    ["of another agent is not that of the defaults", false, undefined, "~/ws", "/state/workspace-ops"],
    ["is the agent's own before all", true, "/data/ops", "~/ws", "/data/ops"],
    ["starts in the state directory when it is relative", false, "ops", undefined, "/state/ops"],
    ["may be the home directory", false, "~", undefined, "/home/ada"],
  ];
  for (const [what, isDefault, own, ofAll, path] of rows) {
    it(what, () => {
      const entry = own === undefined ? {} : { workspace: own };
      const defaults = ofAll === undefined ? {} : { workspace: ofAll };
      assert.equal(workspaceOf({ id: "ops", isDefault }, entry, defaults, places), path);
    });
  }
});

describe("a path from a caller", () => {
  const taken: [string, string][] = [
    ["/data/ada", "/data/ada"],
    ["/data/../srv/ada/", "/srv/ada"],
    ["~/ada", "/home/ada/ada"],
    ["~", "/home/ada"],
  ];
  for (const [path, absolute] of taken) {
    it(`takes ${path} as ${absolute}`, () => assert.equal(callersPath(path, places), absolute));
  }

  for (const path of ["ada", "./ada", "../ada", "~ada/x", " /data", "", "C:\\ada"]) {
    it(`refuses "${path}" and says how to write it`, () =>
      assert.throws(() => callersPath(path, places), { code: "INVALID_REQUEST", message: /relative path.*~\// }));
  }

  it("refuses a NUL character", () =>
    assert.throws(() => callersPath("/data\0/x", places), { code: "INVALID_REQUEST", message: /NUL/ }));
});

describe("what can be a workspace", () => {
  const others = [{ id: "ops", workspace: "/data/ops" }];
  const obstacle = (path: string) => workspaceObstacle(path, "/home/ada/.svc", others);
  for (const path of ["/home/ada/.svc/workspace-x", "/home/ada/.svc-2", "/data/ops-2", "/home/ada/notes"]) {
    it(`is ${path}`, () => assert.equal(obstacle(path), undefined));
  }
});
