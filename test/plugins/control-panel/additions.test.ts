/** Pages and cards of other plugins, including those that fail, are slow or hostile. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defineContract, defineEvent, notFound, type Plugin, Type } from "@svc/sdk";
import { panel, PanelCard, PanelPage } from "@svc/sdk/panel";
import { createFakeClock } from "@svc/sdk/testing";
import { pluginOf } from "../../plugin-of.ts";
import { until } from "../../until.ts";
import { panelScene } from "./scene.ts";

const limited = { timeout: 120_000 };
const PAGE_CSP =
  "sandbox allow-scripts allow-forms allow-modals allow-popups; default-src 'self' data: blob:; script-src 'self'; " +
  "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'none'; object-src 'none'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

const greet = defineContract("greet", {
  hello: { summary: "Greet", scope: "operator.read", params: Type.Object({}), result: Type.Object({}) },
});
const said = defineEvent({ name: "greet.said", summary: "Said", payload: Type.Object({}) });

/** A plugin with the page `id`, whose files are returned by `file`. */
function pagePlugin(id: string, file: (path: string) => unknown, more: object = {}): Plugin {
  return pluginOf(id, ({ extend }) => {
    extend(PanelPage, id, { title: `Page ${id}`, file, ...more } as never); // hostile pages return anything
  });
}

function cardPlugin(id: string, read: () => unknown, more: object = {}): Plugin {
  return pluginOf(id, ({ extend }) => {
    extend(PanelCard, id, { title: `Card ${id}`, read, ...more } as never); // hostile cards return anything
  });
}

describe("pages", limited, () => {
  const greeter = pluginOf("greet", ({ serve, event, extend }) => {
    serve(greet, { hello: () => ({}) });
    event(said);
    extend(PanelPage, "greet", {
      title: "Greetings",
      icon: "👋",
      methods: ["greet.hello", "greet.none", "panel.pages", "config.set"],
      events: ["greet.said", "tick"],
      file: async (path) => {
        if (path === "index.html") return { type: "text/html; charset=utf-8", bytes: "<!doctype html>hello" };
        if (path === "a/b.bin") return { type: "application/octet-stream", bytes: new Uint8Array([1, 0, 255]) };
        return undefined;
      },
    });
  });

  it("are listed with the methods and events of their own plugin", async (t) => {
    const { client } = await panelScene(t, { plugins: [greeter, pagePlugin("plain", () => undefined)] });
    const { pages } = await client.call(panel.pages, {});
    assert.deepEqual(pages, [
      {
        id: "greet",
        plugin: "greet",
        title: "Greetings",
        icon: "👋",
        path: "/__svc/pages/greet/",
        methods: ["greet.hello"],
        events: ["greet.said"],
        refused: ["greet.none", "panel.pages", "config.set", "tick"],
      },
      {
        id: "plain",
        plugin: "plain",
        title: "Page plain",
        path: "/__svc/pages/plain/",
        methods: [],
        events: [],
        refused: [],
      },
    ]);
  });

  it("are served with their own headers, below the base path", async (t) => {
    for (const base of ["", "/p"]) {
      const { get, client } = await panelScene(t, { plugins: [greeter], controlUi: { basePath: base } });
      const { pages } = await client.call(panel.pages, {});
      assert.equal(pages[0]?.path, `${base}/__svc/pages/greet/`);
      const moved = await get(`${base}/__svc/pages/greet?x=1`);
      assert.deepEqual([moved.status, moved.headers.location], [302, `${base}/__svc/pages/greet/?x=1`]);
      const rows: [path: string, status: number, type: string, body: string | Buffer][] = [
        ["", 200, "text/html; charset=utf-8", "<!doctype html>hello"],
        ["index.html", 200, "text/html; charset=utf-8", "<!doctype html>hello"],
        ["a/b.bin", 200, "application/octet-stream", Buffer.from([1, 0, 255])],
        ["none.js", 404, "text/plain; charset=utf-8", "Not Found"],
        ["none", 404, "text/plain; charset=utf-8", "Not Found"],
      ];
      for (const [path, status, type, body] of rows) {
        for (const method of ["GET", "HEAD"]) {
          const { headers, ...answer } = await get(`${base}/__svc/pages/greet/${path}`, { method });
          assert.deepEqual([answer.status, headers["content-type"]], [status, type], path);
          assert.deepEqual(answer.bytes, method === "GET" ? Buffer.from(body) : Buffer.alloc(0), path);
          assert.equal(headers["content-security-policy"], PAGE_CSP, path);
          assert.equal(headers["x-frame-options"], undefined, path);
          assert.equal(headers["access-control-allow-origin"], "*", path);
          assert.equal(headers["cross-origin-resource-policy"], "cross-origin", path);
          assert.equal(headers["x-content-type-options"], "nosniff", path);
        }
      }
      assert.equal((await get(`${base}/__svc/pages/other/`)).status, 404);
      assert.equal((await get(`${base}/__svc/pages/greet/`, { method: "POST" })).status, 404);
      const bridge = await get(`${base}/__svc/bridge.js`);
      assert.deepEqual([bridge.status, bridge.text], [200, "globalThis.svcPanel = {};"]);
      assert.equal(bridge.headers["access-control-allow-origin"], "*");
      assert.equal(bridge.headers["cross-origin-resource-policy"], "cross-origin");
    }
  });

  it("that fail are answered without details, and strangers cannot send their plugin into quarantine", async (t) => {
    const file = (path: string) => {
      if (path === "sync") throw new Error("the secret of the page");
      if (path === "async") return Promise.reject(new Error("the secret of the page"));
      if (path === "refused") return notFound("the secret of the page");
      if (path === "text") return Promise.resolve("text");
      if (path === "type") return Promise.resolve({ type: "text/html\r\nSet-Cookie: a=b", bytes: "x" });
      if (path === "bytes") return Promise.resolve({ type: "text/html", bytes: { length: 3 } });
      if (path === "large") return Promise.resolve({ type: "text/html", bytes: Buffer.alloc(8 * 1_024 * 1_024 + 1) });
      return Promise.resolve({ type: "text/html", bytes: Buffer.alloc(8 * 1_024 * 1_024) });
    };
    const { get, gateway } = await panelScene(t, { plugins: [pagePlugin("broken", file)] });
    for (let round = 0; round < 10; round++) {
      for (const path of ["sync", "async", "refused", "text", "type", "bytes", "large"]) {
        const answer = await get(`/__svc/pages/broken/${path}`);
        assert.deepEqual([answer.status, answer.headers["content-security-policy"]], [500, PAGE_CSP], path);
        assert.ok(!answer.text.includes("secret"), path);
        assert.equal(answer.headers["set-cookie"], undefined);
      }
    }
    assert.equal((await get("/__svc/pages/broken/")).bytes.length, 8 * 1_024 * 1_024);
    assert.equal(gateway.plugins().find(({ id }) => id === "broken")?.state, "active");
  });

  it("that do not answer end after 10 seconds", async (t) => {
    const clock = createFakeClock();
    let asked = false;
    const slow = pagePlugin("slow", () => {
      asked = true;
      return new Promise(() => undefined);
    });
    const { get } = await panelScene(t, { plugins: [slow], gateway: { clock } });
    const answer = get("/__svc/pages/slow/");
    await until(() => asked, "the request");
    await clock.advance(9_999);
    assert.equal(await Promise.race([answer, Promise.resolve("still waiting")]), "still waiting");
    await clock.advance(1);
    assert.equal((await answer).status, 503);
  });

  it("of another form are not listed", async (t) => {
    const odd = [
      pagePlugin("no-title", () => undefined, { title: "" }),
      pagePlugin("long-title", () => undefined, { title: "x".repeat(81) }),
      pagePlugin("bad-methods", () => undefined, { methods: "all" }),
      pagePlugin("bad-icon", () => undefined, { icon: 1 }),
      pluginOf("bad-id", ({ extend }) => extend(PanelPage, "Bad Id", { title: "x", file: async () => undefined })),
      pluginOf("no-object", ({ extend }) => extend(PanelPage, "text", "text" as never)), // as a careless author
    ];
    const { client, get } = await panelScene(t, { plugins: [...odd, pagePlugin("good", () => undefined)] });
    for (let round = 0; round < 2; round++) {
      assert.deepEqual(
        (await client.call(panel.pages, {})).pages.map(({ id }) => id),
        ["good"],
      );
    }
    assert.equal((await get("/__svc/pages/text/")).status, 500);
  });

  it("leave with their plugin", async (t) => {
    const many = pluginOf("many", ({ extend }) => {
      for (let n = 0; n < 120; n++) extend(PanelPage, `p${n}`, { title: "x", file: async () => undefined });
    });
    const { client } = await panelScene(t, { plugins: [many] });
    assert.equal((await client.call(panel.pages, {})).pages.length, 100);
    const { client: without, get } = await panelScene(t);
    assert.deepEqual(await without.call(panel.pages, {}), { pages: [] });
    assert.deepEqual(await without.call(panel.cards, {}), { cards: [] });
    assert.equal((await get("/__svc/pages/p0/")).status, 404);
  });
});

describe("cards", limited, () => {
  const rows = [{ label: "Queue", value: "3 waiting", tone: "warning" }];

  it("are read together; a failure stays in its own entry", async (t) => {
    const circle: Record<string, unknown> = { rows };
    circle["self"] = circle;
    const plugins = [
      cardPlugin("good", async () => ({ rows, text: "below", page: "good-page", extra: "x" })),
      cardPlugin("throws", () => {
        throw new Error("the secret of the card");
      }),
      cardPlugin("rejects", () => Promise.reject(new Error("the secret of the card"))),
      cardPlugin("refuses", () => notFound("no queue\nyet")),
      cardPlugin("nothing", () => undefined),
      cardPlugin("form", async () => ({ rows: [{ label: "x", value: 3 }] })),
      cardPlugin("many", async () => ({ rows: Array.from({ length: 21 }, () => rows[0]) })),
      cardPlugin("large", async () => ({ rows, extra: "x".repeat(64 * 1_024) })),
      cardPlugin("circle", async () => circle),
      cardPlugin("foreign", async () => ({ rows: [], page: "good-page" })),
      pluginOf("paged", ({ extend }) => {
        extend(PanelPage, "paged", { title: "x", file: async () => undefined });
        extend(PanelCard, "paged", { title: "Paged", read: async () => ({ rows: [], page: "paged" }) });
      }),
      pluginOf("classy", ({ extend }) => {
        class Classy {
          readonly title = "Classy";
          readonly #label = "own";
          async read() {
            return { rows: [{ label: this.#label, value: "x" }] };
          }
        }
        extend(PanelCard, "classy", new Classy());
      }),
    ];
    const { client } = await panelScene(t, { plugins });
    const { cards } = await client.call(panel.cards, {});
    const byId = new Map(cards.map((card) => [card.id, card]));
    const failed = (id: string) => `plugin ${id} failed; the log of the gateway has the cause`;
    assert.deepEqual(byId.get("good"), {
      id: "good",
      plugin: "good",
      title: "Card good",
      content: { rows, text: "below" },
    });
    const errors: Record<string, string> = {
      throws: failed("throws"),
      rejects: failed("rejects"),
      refuses: "no queue yet",
      nothing: "the card does not have the form of CardContent",
      form: "the card does not have the form of CardContent",
      many: "the card does not have the form of CardContent",
      circle: failed("circle"),
    };
    for (const [id, error] of Object.entries(errors)) {
      assert.deepEqual(byId.get(id), { id, plugin: id, title: `Card ${id}`, error });
    }
    assert.match(byId.get("large")?.error ?? "", /^the card has \d+ characters; the limit is 65536$/);
    assert.deepEqual(byId.get("foreign")?.content, { rows: [] });
    assert.deepEqual(byId.get("paged")?.content, { rows: [], page: "paged" });
    assert.deepEqual(byId.get("classy")?.content, { rows: [{ label: "own", value: "x" }] });
    assert.equal(cards.length, plugins.length);
    assert.ok(!JSON.stringify(cards).includes("secret"));
  });

  it("that do not answer end after 5 seconds, and the others are shown", async (t) => {
    const clock = createFakeClock();
    let asked = 0;
    const never = () => {
      asked++;
      return new Promise(() => undefined);
    };
    const plugins = [cardPlugin("one", never), cardPlugin("two", never), cardPlugin("zoo", async () => ({ rows }))];
    const { client } = await panelScene(t, { plugins, gateway: { clock } });
    const answer = client.call(panel.cards, {});
    await until(() => asked === 2, "both");
    await clock.advance(5_000);
    const { cards } = await answer;
    assert.deepEqual(
      cards.map(({ error, content }) => error ?? content),
      ["plugin one did not answer within 5 s", "plugin two did not answer within 5 s", { rows }],
    );
  });

  it("errors of a card are attributed to its plugin", async (t) => {
    const { client, gateway } = await panelScene(t, {
      plugins: [cardPlugin("broken", () => Promise.reject(new Error("it broke")))],
    });
    await client.call(panel.cards, {});
    const report = gateway.plugins().find(({ id }) => id === "broken");
    assert.deepEqual([report?.blame?.where, report?.blame?.message], ["panel.card broken", "it broke"]);
  });

  it("need a reader", async (t) => {
    const { connect } = await panelScene(t);
    const client = await connect({ scopes: ["operator.pairing"] });
    await assert.rejects(client.call(panel.cards, {}), { message: /operator\.read/ });
    await assert.rejects(client.call(panel.pages, {}), { message: /operator\.read/ });
  });
});
