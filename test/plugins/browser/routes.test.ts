/** Routes over the real Chromium: what agents and operators do with pages. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { safeName } from "../../../plugins/browser/files.ts";
import { type Loose, NO_CHROMIUM, scene } from "./scene.ts";

const FORM = `<title>Form</title><h1>Order</h1>
<label>Name <input id=name></label><label><input type=checkbox id=ok> Agree</label>
<select id=size aria-label=Size><option>S<option>L</select>
<button onclick="document.querySelector('#out').textContent = [document.querySelector('#name').value, document.querySelector('#ok').checked, document.querySelector('#size').value].join()">Send</button>
<p id=out></p><a href="/next">Next page</a><input type=file id=file aria-label=File multiple>`;

const refOf = (snapshot: unknown, line: RegExp) => {
  const found = String(snapshot)
    .split("\n")
    .find((one) => line.test(one));
  return /\[ref=(\w+)\]/.exec(found ?? "")?.[1] ?? assert.fail(`no ${line} in\n${String(snapshot)}`);
};

it("names of files are the same on every system", () => {
  const names = [
    ["../../etc/passwd", "passwd"],
    ["..\\..\\evil.exe", "evil.exe"],
    ["a\u202Egpj.exe", "a_gpj.exe"],
    ["...", "file"],
    [".bashrc", "bashrc"],
    ["a\0b\n.txt", "a_b_.txt"],
    [`${"x".repeat(300)}.pdf`, `${"x".repeat(96)}.pdf`],
    ["CON:stream", "CON_stream"],
  ];
  for (const [given = "", safe] of names) assert.equal(safeName(given), safe);
});

describe("pages", { skip: NO_CHROMIUM }, () => {
  it("are read, filled in and sent by reference", async (t) => {
    const { ask, refuses } = await scene(t, { "shop.test/": FORM, "shop.test/next": "<h1>Second</h1>" });
    const opened = await ask("POST", "/tabs/open", { url: "http://shop.test/" });
    const { targetId } = opened;
    assert.deepEqual(opened, {
      ok: true,
      targetId,
      url: "http://shop.test/",
      status: 200,
      loaded: true,
      title: "Form",
    });

    const { snapshot, format, truncated } = await ask("GET", "/snapshot");
    assert.deepEqual([format, truncated], ["ai", false]);
    assert.match(String(snapshot), /heading "Order" \[level=1\]/);
    const [name, agree, size, send] = [/textbox "Name"/, /checkbox/, /combobox "Size"/, /button "Send"/].map((line) =>
      refOf(snapshot, line),
    );
    await ask("POST", "/act", {
      kind: "fill",
      fields: [
        { ref: name, value: "Ada" },
        { ref: agree, value: true },
      ],
    });
    assert.deepEqual((await ask("POST", "/act", { kind: "select", ref: size, values: ["L"] }))["selected"], ["L"]);
    await ask("POST", "/act", { kind: "click", ref: send });
    const after = await ask("GET", "/snapshot", { maxChars: "5000" });
    assert.match(String(after["snapshot"]), /Ada,true,L/);

    const { snapshot: short } = await ask("GET", "/snapshot", { interactive: true });
    assert.doesNotMatch(String(short), /heading/);
    assert.match(String(short), /^- textbox "Name"/);
    const { snapshot: plain } = await ask("GET", "/snapshot", { format: "aria" });
    assert.doesNotMatch(String(plain), /ref=/);
    assert.equal(String((await ask("GET", "/snapshot", { maxChars: 100 }))["snapshot"]).length, 100);

    await ask("POST", "/act", { kind: "click", ref: refOf(after["snapshot"], /link "Next page"/) });
    await ask("POST", "/act", { kind: "wait", url: "**/next" });
    assert.match(String((await ask("GET", "/snapshot"))["snapshot"]), /Second/);
    await refuses(ask("POST", "/act", { kind: "click", ref: name }), "INVALID_REQUEST", /no element \w+ any more/);
  });

  it("take keys, hover, drags, double clicks and a new size", async (t) => {
    const page = `<input id=i onkeydown="log(event.key)"><p id=a draggable=true ondblclick="log('dbl')" onmouseover="log('over')">a</p><p id=b ondragover="event.preventDefault()" ondrop="log('drop')">b</p><script>globalThis.seen=[];function log(x){seen.push(x)}</script>`;
    const { ask, run } = await scene(t, { "x.test/": page });
    await ask("POST", "/tabs/open", { url: "http://x.test/" });
    await ask("POST", "/act", { kind: "type", selector: "#i", text: "ab", slowly: true, submit: true });
    await ask("POST", "/act", { kind: "press", key: "Escape" });
    await ask("POST", "/act", { kind: "hover", selector: "#a" });
    await ask("POST", "/act", { kind: "dblclick", selector: "#a" });
    const { snapshot } = await ask("GET", "/snapshot");
    await ask("POST", "/act", { kind: "drag", startRef: refOf(snapshot, /: a$/), endRef: refOf(snapshot, /: b$/) });
    await ask("POST", "/act", { kind: "resize", width: 500, height: 400 });
    assert.deepEqual(await run("[...new Set(seen)]"), ["a", "b", "Enter", "Escape", "over", "dbl", "drop"]);
    assert.deepEqual(await run("[innerWidth, innerHeight]"), [500, 400]);
    assert.equal(
      (await ask("POST", "/act", { kind: "evaluate", selector: "#a", fn: "(element) => element.textContent" }))[
        "result"
      ],
      "a",
    );
  });

  it("refuse what a kind does not take, and scripts unless they are allowed", async (t) => {
    const { ask, refuses } = await scene(t, { "x.test/": "<p>x" }, { config: { evaluateEnabled: false } });
    await ask("POST", "/tabs/open", { url: "http://x.test/" });
    const wrong: [keys: object, message: RegExp][] = [
      [{ kind: "dance" }, /kind.*must be one of/],
      [{ kind: "click", text: "x" }, /click takes .*not text/],
      [{ kind: "click" }, /either ref or selector/],
      [{ kind: "click", ref: "e1", selector: "p" }, /either ref or selector/],
      [{ kind: "type", selector: "p" }, /type needs text/],
      [{ kind: "click", ref: "e1); evil" }, /ref/],
      [{ kind: "wait" }, /wait needs/],
      [{ kind: "evaluate", fn: "1" }, /browser\.evaluateEnabled true/],
      [{ kind: "wait", fn: "true" }, /browser\.evaluateEnabled true/],
      [{ kind: "click", selector: "p", unknown: 1 }, /unexpected property 'unknown'/],
    ];
    for (const [keys, message] of wrong) await refuses(ask("POST", "/act", keys), "INVALID_REQUEST", message);
    const late = (kind: string) => ask("POST", "/act", { kind, selector: "#none", timeoutMs: 3_000 });
    const reason = /Timeout 2700ms .*waiting for.*#none/;
    await Promise.all(["click", "hover"].map((kind) => refuses(late(kind), "UNAVAILABLE", reason)));
    await refuses(ask("GET", "/nowhere"), "NOT_FOUND", /no route GET \/nowhere/);
    await refuses(ask("POST", "/tabs"), "NOT_FOUND", /no route POST \/tabs/);
    await refuses(ask("GET", "/", { profile: "none" }), "NOT_FOUND", /no profile "none"/);
    await refuses(
      ask("GET", "/tabs", { profile: "none" }).then(() => ask("POST", "/start", { profile: "none" })),
      "NOT_FOUND",
      /no profile "none"/,
    );
  });

  it("are shown as pictures and documents, in files of the owner only", async (t) => {
    const { ask, refuses } = await scene(t, {
      "x.test/": `<body style="margin:0"><button>Go</button><div style="height:90000px">long`,
    });
    await ask("POST", "/tabs/open", { url: "http://x.test/" });
    const png = await ask("POST", "/screenshot");
    const bytes = await readFile(String(png["path"]));
    assert.deepEqual(
      [bytes.subarray(1, 4).toString(), bytes.readUInt32BE(16), bytes.readUInt32BE(20)],
      ["PNG", 1280, 800],
    );
    assert.equal((await stat(String(png["path"]))).mode & 0o777, 0o600);
    const full = await readFile(String((await ask("POST", "/screenshot", { fullPage: true }))["path"]));
    assert.equal(full.readUInt32BE(20), 16_000, "an endless page is cut");
    const part = await ask("POST", "/screenshot", { selector: "button", type: "jpeg", inline: true });
    assert.equal(Buffer.from(String(part["base64"]), "base64").readUInt16BE(0), 0xff_d8);
    const pdf = await ask("POST", "/pdf");
    assert.match(String(await readFile(String(pdf["path"]))).slice(0, 5), /%PDF-/);
    const labels = await ask("GET", "/snapshot", { labels: true });
    assert.ok(Number(labels["labels"]) > 0);
    assert.doesNotMatch(String(labels["snapshot"]), /box=/);
    assert.equal((await readFile(String(labels["imagePath"]))).subarray(1, 4).toString(), "PNG");
    await ask("POST", "/highlight", { selector: "button" });
    await refuses(ask("POST", "/screenshot", { selector: "button", fullPage: true }), "INVALID_REQUEST", /either/);
  });

  it("have tabs, which sessions do not share", async (t) => {
    const { ask, refuses } = await scene(t, { "x.test/": "<a href='/p' target=_blank>pop</a>", "x.test/p": "popup" });
    const one = { owner: "agent:main:one" };
    const two = { owner: "agent:main:two" };
    const { targetId } = await ask("POST", "/tabs/open", { url: "http://x.test/" }, one);
    await ask("POST", "/tabs/open", {}, two);
    const urls = async (caller: object) =>
      ((await ask("GET", "/tabs", {}, caller))["tabs"] as Loose[]).map(({ url }) => url);
    assert.deepEqual(await urls(one), ["http://x.test/"]);
    assert.deepEqual(await urls(two), ["about:blank"]);
    await refuses(ask("POST", "/tabs/focus", { targetId }, two), "NOT_FOUND", /no tab/);
    await refuses(ask("DELETE", `/tabs/${String(targetId)}`, {}, two), "NOT_FOUND", /no tab/);
    await ask("POST", "/act", { kind: "click", selector: "a" }, one);
    assert.deepEqual(
      await urls(one),
      ["http://x.test/", "http://x.test/p"],
      "a popup belongs to the session of its page",
    );
    assert.equal((await urls({})).length, 4, "operators see all, with the first empty tab");
    await ask("POST", "/tabs/action", { action: "select", targetId }, one);
    await ask("POST", "/tabs/action", { action: "close" }, one);
    assert.deepEqual(await urls(one), ["http://x.test/p"]);
  });

  it("show dialogs, which are dismissed unless an answer was given before", async (t) => {
    const { ask, run } = await scene(t, {
      "x.test/": `<button onclick="globalThis.got = prompt('Your name?')">ask</button>`,
    });
    await ask("POST", "/tabs/open", { url: "http://x.test/" });
    const first = await ask("POST", "/act", { kind: "click", selector: "button" });
    assert.deepEqual(first["dialogs"], [{ type: "prompt", message: "Your name?", accepted: false }]);
    assert.equal(await run("got"), null);
    await ask("POST", "/hooks/dialog", { accept: true, promptText: "Ada" });
    const second = await ask("POST", "/act", { kind: "click", selector: "button" });
    assert.deepEqual(second["dialogs"], [{ type: "prompt", message: "Your name?", accepted: true }]);
    assert.equal(await run("got"), "Ada");
  });

  it("cannot keep a tab that leaves them", async (t) => {
    const { ask } = await scene(t, {
      "x.test/": "<input><script>onbeforeunload = (event) => event.preventDefault()</script>",
      "x.test/next": "next",
    });
    await ask("POST", "/tabs/open", { url: "http://x.test/" });
    await ask("POST", "/act", { kind: "type", selector: "input", text: "a", slowly: true });
    await ask("POST", "/hooks/dialog", { accept: false });
    assert.equal((await ask("POST", "/navigate", { url: "http://x.test/next" }))["url"], "http://x.test/next");
    const { dialogs } = await ask("GET", "/errors");
    assert.deepEqual(dialogs, [{ type: "beforeunload", message: "", accepted: true }]);
  });

  it("do not act after a call was ended", async (t) => {
    const { control, ask, run } = await scene(t, { "x.test/": "<script>globalThis.seen = 0</script><p>x" });
    await ask("POST", "/tabs/open", { url: "http://x.test/" });
    const body = { kind: "click", selector: "button" };
    const ending = AbortSignal.timeout(300);
    const call = control.call({ method: "POST", path: "/act", query: {}, body, caller: {}, signal: ending });
    await assert.rejects(call, { name: "TimeoutError" });
    await run("document.body.innerHTML = '<button onclick=seen++>late</button>'");
    await ask("POST", "/act", { kind: "wait", timeMs: 1_200 });
    assert.equal(await run("seen"), 0);
  });

  it("receive files of the caller's directories only", async (t) => {
    const workspace = await mkdtemp(join(tmpdir(), "svc-uploads-"));
    t.after(() => rm(workspace, { recursive: true }));
    await writeFile(join(workspace, "a.txt"), "hello");
    await symlink("/etc/passwd", join(workspace, "link"));
    const { ask, refuses, run } = await scene(t, {
      "x.test/": `<input type=file id=f multiple><button onclick="f.click()">choose</button>`,
    });
    const nameOf = (path: string) => (path.startsWith("/") ? undefined : path);
    const caller = { uploads: async () => [{ root: workspace, nameOf }] };
    await ask("POST", "/tabs/open", { url: "http://x.test/" });
    await ask("POST", "/act", { kind: "upload", selector: "#f", paths: ["a.txt"] }, caller);
    const READ =
      "async () => Promise.all([...document.querySelector('#f').files].map(async (f) => [f.name, await f.text()]))";
    assert.deepEqual(await run(READ), [["a.txt", "hello"]]);
    for (const path of ["/etc/passwd", "../x", "link", "none.txt"])
      await refuses(
        ask("POST", "/act", { kind: "upload", selector: "#f", paths: [path] }, caller),
        "INVALID_REQUEST",
        /./,
      );
    await refuses(
      ask("POST", "/act", { kind: "upload", selector: "#f", paths: ["a.txt"] }),
      "INVALID_REQUEST",
      /no file of the workspace/,
    );

    const { path } = await ask("POST", "/screenshot");
    await ask("POST", "/hooks/file-chooser", { paths: [path, "a.txt"], selector: "button" }, caller);
    await ask("POST", "/act", { kind: "wait", timeMs: 200 });
    assert.equal((await run("document.querySelector('#f').files.length")) as number, 2);
  });

  it("deliver downloads under safe names, within a limit", async (t) => {
    const { ask, refuses, stateDir } = await scene(t, {
      "x.test/": "<a id=a href=/d>bad name</a><a id=b href=/big>big</a><a id=c href=/other>other</a>",
      "x.test/other": (_, response) =>
        void response.setHeader("content-disposition", "attachment; filename=other.txt").end("other"),
      "x.test/d": (_, response) =>
        void response
          .setHeader(
            "content-disposition",
            `attachment; filename="..%2f..%2f.evil.sh"; filename*=UTF-8''..%2F..%2F%E2%80%AEgpj.sh`,
          )
          .end("data"),
      "x.test/big": (_, response) => {
        response.setHeader("content-disposition", "attachment; filename=big.bin");
        const part = Buffer.alloc(1024 * 1024);
        const more = () => {
          while (response.writable && response.write(part));
        };
        response.on("drain", more);
        more();
      },
    });
    await ask("POST", "/tabs/open", { url: "http://x.test/" });
    const { download } = (await ask("POST", "/download", { selector: "#a" })) as Loose;
    assert.equal(download.bytes, 4);
    assert.match(download.path, new RegExp(`^${join(stateDir, "files")}/[0-9a-f]{8}-[\\w. -]+$`));
    assert.equal(await readFile(download.path, "utf8"), "data");
    await refuses(ask("POST", "/download", { selector: "#b" }), "INVALID_REQUEST", /more than 52428800 bytes/);
    assert.deepEqual((await readdir(join(stateDir, "files"))).length, 1);
    await ask("POST", "/act", { kind: "click", selector: "#a" });
    const { download: own } = (await ask("POST", "/download", { selector: "#c" })) as Loose;
    assert.equal(own.name, "other.txt", "not the one that began before the click");
    assert.match(((await ask("POST", "/wait/download")) as Loose).download.name, /gpj\.sh$/);
    await refuses(ask("POST", "/wait/download", { timeoutMs: 200 }), "UNAVAILABLE", /did not finish within 200 ms/);
  });

  it("report their console, errors and requests in bounded lists", async (t) => {
    const flood = `for (let i = 0; i < 3000; i++) console.log("line " + i, "x".repeat(5000)); console.error("bad"); setTimeout(() => { throw new Error("late") });`;
    const { ask } = await scene(t, {
      "x.test/": `<script>${flood}</script><script src=/missing.js></script>`,
      "x.test/data": (_, response) => void response.setHeader("content-type", "application/json").end('{"a":1}'),
    });
    await ask("POST", "/tabs/open", { url: "http://x.test/" });
    const all = await ask("GET", "/console", { limit: 500 });
    const messages = all["messages"] as Loose[];
    assert.equal(messages.length, 500);
    assert.ok(messages.every(({ text }) => text.length <= 2_000));
    assert.ok(Number(all["total"]) > 3_000);
    const bad = (await ask("GET", "/console", { level: "error", limit: 500 }))["messages"] as Loose[];
    assert.ok(bad.some(({ text }) => text === "bad") && bad.every(({ type }) => type === "error"));
    assert.deepEqual(
      ((await ask("GET", "/errors"))["errors"] as Loose[]).map(({ message }) => message),
      ["late"],
    );
    const requests = (await ask("GET", "/requests", { filter: "missing" }))["requests"] as Loose[];
    assert.deepEqual(
      requests.map(({ url, status, type }) => [url, status, type]),
      [["http://x.test/missing.js", 404, "script"]],
    );

    await ask("POST", "/act", { kind: "evaluate", fn: "fetch('/data').then((r) => r.text())" });
    const { response } = (await ask("POST", "/response/body", { url: "/data" })) as Loose;
    assert.deepEqual([response.status, response.body, response.truncated], [200, '{"a":1}', false]);
    assert.equal(((await ask("GET", "/console", { clear: "true", limit: 1 }))["messages"] as Loose[]).length, 1);
    assert.deepEqual((await ask("GET", "/console"))["messages"], []);
  });

  it("have cookies, storage, and a machine that can be set", async (t) => {
    const { ask, run, refuses } = await scene(t, {
      "x.test/": "<p>x",
      "x.test/headers": ({ headers }, response) =>
        void response
          .setHeader("content-type", "text/html")
          .end(`${String(headers["x-test"])} ${String(headers["cookie"])}`),
      "x.test/private": ({ headers }, response) =>
        headers.authorization
          ? void response.end(headers.authorization)
          : void response.writeHead(401, { "www-authenticate": "Basic realm=x" }).end(),
    });
    await ask("POST", "/tabs/open", { url: "http://x.test/" });
    await ask("POST", "/cookies/set", { cookie: { name: "c", value: "1", url: "http://x.test/" } });
    await ask("POST", "/set/headers", { headers: { "x-test": "yes" } });
    await ask("POST", "/navigate", { url: "http://x.test/headers" });
    assert.equal(await run("document.body.textContent"), "yes c=1");
    assert.deepEqual(
      ((await ask("GET", "/cookies"))["cookies"] as Loose[]).map(({ name, value }) => [name, value]),
      [["c", "1"]],
    );
    await ask("POST", "/cookies/clear");
    assert.deepEqual((await ask("GET", "/cookies"))["cookies"], []);
    await refuses(
      ask("POST", "/cookies/set", { cookie: { name: "c", value: "1" } }),
      "INVALID_REQUEST",
      /either url or domain/,
    );

    await ask("POST", "/storage/local/set", { key: "k", value: "v" });
    assert.deepEqual((await ask("GET", "/storage/local"))["values"], { k: "v" });
    await ask("POST", "/storage/local/clear");
    assert.deepEqual((await ask("GET", "/storage/local", { key: "k" }))["values"], {});
    await refuses(ask("GET", "/storage/disk"), "INVALID_REQUEST", /kind.*must be one of/);

    await ask("POST", "/set/credentials", { username: "ada", password: "pw" });
    await ask("POST", "/navigate", { url: "http://x.test/private" });
    assert.equal(await run("document.body.textContent"), `Basic ${Buffer.from("ada:pw").toString("base64")}`);
    await ask("POST", "/set/credentials", { clear: true });

    await ask("POST", "/set/timezone", { timezoneId: "Asia/Tokyo" });
    await ask("POST", "/set/locale", { locale: "de-DE" });
    await ask("POST", "/set/media", { colorScheme: "dark" });
    assert.deepEqual(
      await run("[new Date(0).getHours(), (1.5).toLocaleString(), matchMedia('(prefers-color-scheme: dark)').matches]"),
      [9, "1,5", true],
    );
    await ask("POST", "/set/device", { name: "iPhone 13" });
    assert.deepEqual(await run("[innerWidth < 1000, /iPhone/.test(navigator.userAgent)]"), [true, true]);
    await ask("POST", "/set/offline", { offline: true });
    await refuses(ask("POST", "/navigate", { url: "http://x.test/" }), "UNAVAILABLE", /cannot be opened/);
    await ask("POST", "/set/offline", { offline: false });
    await refuses(ask("POST", "/set/geolocation", {}), "INVALID_REQUEST", /latitude and longitude/);
    await ask("POST", "/set/geolocation", { latitude: 52, longitude: 13 });
    await ask("POST", "/set/geolocation", { clear: true });
    const wrong: [path: string, body: object, message: RegExp][] = [
      ["/set/timezone", { timezoneId: "Mars/Base" }, /no time zone/],
      ["/set/device", { name: "__proto__" }, /no device/],
      ["/set/headers", { headers: { a: "x\r\ny: z" } }, /headers/],
      ["/set/colour", {}, /no route/],
    ];
    for (const [path, body, message] of wrong)
      await refuses(ask("POST", path, body), path === "/set/colour" ? "NOT_FOUND" : "INVALID_REQUEST", message);
  });

  it("are recorded in a trace on demand", async (t) => {
    const { ask, refuses } = await scene(t, { "x.test/": "<p>x" });
    await refuses(ask("POST", "/trace/stop"), "INVALID_REQUEST", /no trace is recorded/);
    await ask("POST", "/trace/start");
    await refuses(ask("POST", "/trace/start"), "INVALID_REQUEST", /recorded already/);
    await ask("POST", "/tabs/open", { url: "http://x.test/" });
    const { path } = await ask("POST", "/trace/stop");
    assert.equal((await readFile(String(path))).subarray(0, 2).toString(), "PK");
  });

  it("that never end are a result, and their tab stays usable", async (t) => {
    const { ask, run, refuses } = await scene(t, {
      "x.test/": (_, response) => {
        response.setHeader("content-type", "text/html").write("<h1>start</h1>");
        const timer = setInterval(() => response.write("<p>more</p>"), 20);
        response.on("close", () => clearInterval(timer));
      },
      "x.test/ok": "<p>fine",
    });
    const opened = await ask("POST", "/tabs/open", { url: "http://x.test/", timeoutMs: 1_500 });
    assert.equal(opened["loaded"], false);
    assert.match(String((await ask("GET", "/snapshot"))["snapshot"]), /start/);
    await refuses(
      ask("POST", "/act", { kind: "evaluate", fn: "() => { for (;;); }", timeoutMs: 300 }),
      "UNAVAILABLE",
      /did not finish within 300 ms/,
    );
    await ask("POST", "/tabs/open", { url: "http://x.test/ok" });
    assert.equal(await run("document.body.textContent"), "fine");
  });

  it("are short by default if configured", async (t) => {
    const config = { snapshotDefaults: { mode: "efficient" } };
    const { ask } = await scene(t, { "shop.test/": FORM }, { config });
    await ask("POST", "/tabs/open", { url: "http://shop.test/" });
    assert.doesNotMatch(String((await ask("GET", "/snapshot"))["snapshot"]), /heading/);
    assert.match(String((await ask("GET", "/snapshot", { interactive: false }))["snapshot"]), /heading/);
  });

  it("that are huge are read in parts", async (t) => {
    const { ask, refuses } = await scene(t, { "x.test/": `<main><h2>Part</h2></main>${"<i></i>".repeat(60_000)}` });
    await ask("POST", "/tabs/open", { url: "http://x.test/" });
    await refuses(ask("GET", "/snapshot"), "INVALID_REQUEST", /60\d+ elements; name a part/);
    assert.match(String((await ask("GET", "/snapshot", { selector: "main" }))["snapshot"]), /heading "Part"/);
  });
});

it("old files and the oldest above the limit are deleted", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "svc-files-"));
  t.after(() => rm(directory, { recursive: true }));
  const { createFileStore } = await import("../../../plugins/browser/files.ts");
  const day = 24 * 3_600_000;
  let now = Date.now();
  const files = createFileStore(join(directory, "files"), { now: () => now });
  await mkdir(join(directory, "files"));
  await files.save("old.txt", Buffer.from("x"));
  now += 6 * day;
  await files.save("new.txt", Buffer.from("x"));
  assert.equal((await readdir(join(directory, "files"))).length, 2);
  now += 2 * day;
  await files.reserve("next");
  assert.deepEqual(await readdir(join(directory, "files")), [], "their times are those of the disk");
});
