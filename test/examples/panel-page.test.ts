// long: starts whole programs
/** examples/panel-page, as its README says: the page and the card are in the panel, and the plugin sleeps until they are used. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { panel } from "@svc/sdk/panel";
import { plugins } from "@svc/sdk/plugins";
import { guestbook, guestbookSigned } from "../../examples/panel-page/guestbook.ts";
import { root } from "../checkout.ts";
import { directory } from "../directory.ts";
import { startGatewayProcess } from "../gateway-process.ts";

const HERE = join(root, "examples/panel-page");
const limited = { timeout: 120_000 };

async function start(t: TestContext, stateDir: string) {
  const gateway = await startGatewayProcess(stateDir, { SVC_CONFIG_PATH: join(HERE, "svc.json") });
  t.after(() => gateway.kill());
  const client = await gateway.connect();
  t.after(() => client.close());
  return { gateway, client, address: gateway.url.replace(/^ws/, "http") };
}

describe("examples/panel-page", limited, () => {
  it("has a page with its methods and events, and a card that opens it", async (t) => {
    const { client, address, gateway } = await start(t, directory(t));
    const { pages } = await client.call(panel.pages, {});
    const page = {
      id: "guestbook",
      plugin: "guestbook",
      title: "Guestbook",
      icon: "📖",
      path: "/__svc/pages/guestbook/",
      methods: ["guestbook.list", "guestbook.sign"],
      events: ["guestbook.signed"],
      refused: [],
    };
    assert.deepEqual(pages, [page]);
    for (const [name, type] of [
      ["index.html", "text/html; charset=utf-8"],
      ["page.js", "text/javascript; charset=utf-8"],
      ["style.css", "text/css; charset=utf-8"],
    ] as const) {
      const answer = await fetch(`${address}${page.path}${name === "index.html" ? "" : name}`);
      assert.deepEqual([answer.status, answer.headers.get("content-type")], [200, type]);
      assert.equal(await answer.text(), await readFile(join(HERE, "page", name), "utf8"));
    }
    for (const name of ["guestbook.ts", "page.html", "sub/index.html"]) {
      assert.equal((await fetch(`${address}${page.path}${name}`)).status, 404, name);
    }
    const card = async () => (await client.call(panel.cards, {})).cards[0];
    assert.deepEqual(await card(), {
      id: "guestbook",
      plugin: "guestbook",
      title: "Guestbook",
      content: {
        rows: [
          { label: "Entries", value: "0", tone: "neutral" },
          { label: "Last", value: "nobody yet" },
        ],
        page: "guestbook",
      },
    });
    const told: string[] = [];
    client.on(guestbookSigned, ({ name }) => told.push(name));
    await client.call(guestbook.sign, { name: "Ada" });
    assert.deepEqual(await client.call(guestbook.list, {}), { names: ["Ada"] });
    assert.deepEqual(told, ["Ada"]);
    assert.deepEqual((await card())?.content?.rows[1], { label: "Last", value: "Ada" });
    const reader = await gateway.connect({ scopes: ["operator.read"] });
    t.after(() => reader.close());
    await assert.rejects(reader.call(guestbook.sign, { name: "Bea" }), /missing scope: operator\.write/);
  });

  it("is listed without waking it; its first file and its card wake it", async (t) => {
    const stateDir = directory(t);
    const first = await start(t, stateDir); // writes down what the plugin declares
    await first.client.call(panel.pages, {});
    await first.gateway.kill("SIGTERM");
    const { client, address } = await start(t, stateDir);
    const isAsleep = async () =>
      (await client.call(plugins.list, {})).plugins.find(({ id }) => id === "guestbook")?.asleep;
    assert.equal(await isAsleep(), true);
    const { pages } = await client.call(panel.pages, {});
    assert.deepEqual(
      pages.map(({ id, methods, refused }) => [id, methods.length, refused]),
      [["guestbook", 2, []]],
    );
    assert.equal(await isAsleep(), true);
    assert.equal((await fetch(`${address}/__svc/pages/guestbook/`)).status, 200);
    assert.notEqual(await isAsleep(), true);
    assert.equal((await client.call(panel.cards, {})).cards[0]?.content?.page, "guestbook");
  });
});
