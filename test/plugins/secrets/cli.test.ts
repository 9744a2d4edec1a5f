import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { join } from "node:path";
import type { Method } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";
import commands from "../../../plugins/secrets/cli.ts";
import { root } from "../../checkout.ts";

type Client = Awaited<ReturnType<CommandContext["connect"]>>;

/** Runs a verb against a gateway with this response; an `Error` is a refusal. */
async function run(name: string, answer: unknown, json = false) {
  const printed: unknown[] = [];
  const asked: unknown[] = [];
  let open = 0;
  const client = {
    call: async ({ name: method }: Method, params: unknown) => {
      asked.push([method, params]);
      if (answer instanceof Error) throw answer;
      return answer;
    },
    close: async () => void (open -= 1),
  };
  const context = {
    args: [],
    options: {},
    json,
    connect: async ({ scopes }: { scopes?: readonly string[] } = {}) => {
      open += 1;
      assert.deepEqual(scopes, ["operator.admin"]);
      return client as unknown as Client;
    },
    print: (value: unknown) => void printed.push(value),
  } as unknown as CommandContext; // the parts the commands use
  const command = commands.find((candidate) => candidate.name === `secrets ${name}`) ?? assert.fail(name);
  try {
    return { code: (await command.run(context)) ?? 0, printed, asked };
  } finally {
    assert.equal(open, 0, "every connection is closed");
  }
}

const row = { path: "models.providers.acme.apiKey", source: "env", provider: "default" };

it("svc secrets has the same verbs in package.json", () => {
  const { svc } = JSON.parse(readFileSync(join(root, "plugins/secrets/package.json"), "utf8"));
  assert.deepEqual(
    svc.commands,
    commands.map(({ name, summary }) => ({ name, summary })),
  );
});

describe("svc secrets list", () => {
  it("prints one line per reference, and exits with 1 when one is missing", async () => {
    const secrets = [
      { ...row, state: "found" },
      { ...row, path: "x\u001b[2J", state: "failed", reason: "closed" },
    ];
    const { code, printed, asked } = await run("list", { secrets });
    assert.deepEqual(asked, [["secrets.list", {}]]);
    assert.equal(code, 1);
    assert.deepEqual(printed, [
      "PATH                          SOURCE  PROVIDER  STATE",
      "models.providers.acme.apiKey  env     default   found",
      "x\\u001b[2J                    env     default   failed: closed",
    ]);
  });

  it("exits with 0 when all are found or not needed", async () => {
    const secrets = ["found", "pending", "inactive"].map((state) => ({ ...row, state }));
    assert.equal((await run("list", { secrets })).code, 0);
    assert.deepEqual((await run("list", { secrets }, true)).printed, [{ secrets }]);
  });

  it("explains how to add a reference when there is none", async () => {
    const { printed } = await run("list", { secrets: [] });
    assert.match(String(printed[0]), /no references.*source: "env"/u);
  });
});

describe("svc secrets reload", () => {
  const rows: [warningCount: number, last: RegExp][] = [
    [0, /were reloaded/u],
    [1, /^1 reference is not read by any running plugin/u],
    [2, /^2 references are not read/u],
  ];
  for (const [warningCount, last] of rows) {
    it(`reports ${warningCount} references that no plugin reads`, async () => {
      const { printed, asked } = await run("reload", { ok: true, warningCount });
      assert.deepEqual(asked, [["secrets.reload", {}]]);
      assert.match(String(printed.at(-1)), last);
    });
  }

  it("passes a refusal on", () =>
    assert.rejects(run("reload", new Error("nothing was reloaded")), { message: /nothing was/u }));
});
