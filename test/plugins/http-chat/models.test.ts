/** The agents as models of the public API. Spec: http/chat-completions.md §9. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NotFoundError } from "openai";
import { findModel, listModels } from "../../../plugins/http-chat/models.ts";
import { collected, scene, SUITE_MS } from "./scene.ts";

describe("the models", { timeout: SUITE_MS }, () => {
  it("are the agents, and each of them by the name it is listed under", async (t) => {
    const { openai } = await scene(t);
    const models = await collected(openai.models.list());
    assert.deepEqual(
      models.map(({ id }) => id),
      ["svc", "svc/default", "svc/main", "svc/helper"],
    );
    for (const model of models) {
      assert.deepEqual([model.object, model.owned_by, Number.isInteger(model.created)], ["model", "svc", true]);
      const { _request_id: _, ...found } = await openai.models.retrieve(model.id);
      assert.deepEqual(found, model);
    }
    assert.equal((await openai.models.retrieve("svc:helper")).id, "svc:helper");
    await assert.rejects(openai.models.retrieve("svc/nobody"), (error: unknown) => {
      assert.ok(error instanceof NotFoundError);
      assert.deepEqual([error.code, error.type, error.param], ["model_not_found", "invalid_request_error", "model"]);
      return true;
    });
  });

  it("are listed once", () => {
    const agents = { list: () => [{ id: "default", isDefault: true, workspace: "" }] };
    assert.deepEqual(
      listModels(agents, 1).map(({ id }) => id),
      ["svc", "svc/default"],
    );
  });

  const listed = listModels({ list: () => [{ id: "main", isDefault: true, workspace: "" }] }, 1);
  const rows: [asked: string, isThere: boolean][] = [
    ["svc", true],
    ["acme", true],
    ["svc/default", true],
    ["svc/main", true],
    ["svc:Main", true],
    ["ACME:main", true],
    ["acme/main", true],
    ["agent:main", true],
    ["agent/main", false],
    ["agent", false],
    ["svc/other", false],
    ["svc/main/x", false],
    ["other/main", false],
    ["gpt-4o", false],
    ["svc/", false],
    ["", false],
  ];
  for (const [asked, isThere] of rows) {
    it(`${isThere ? "have" : "have no"} "${asked}"`, () => {
      if (isThere) assert.equal(findModel(asked, listed, ["acme"]).id, asked);
      else assert.throws(() => findModel(asked, listed, ["acme"]), { code: "NOT_FOUND" });
    });
  }
});
