/** Pictures and files: how they are loaded, and every limit. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError, outsideOrigin } from "@svc/sdk";
import type { OutboundRefusalCode } from "@svc/sdk/web";
import { base64, openScene, PNG, shown, systemOf, userSays } from "./scene.ts";

const limited = { timeout: 120_000 };
const ask = (...content: object[]) => ({ model: "svc", input: userSays(...content) });
const text = { type: "input_text", text: "look" };
const data = `data:image/png;base64,${PNG}`;
const picture = { type: "input_image", image_url: data };
const url = (name: string) => ({ type: "input_image", image_url: `https://pictures.example/${name}` });
const file = (content: string, filename = "a.txt", type = "text/plain") => ({
  type: "input_file",
  filename,
  file_data: `data:${type};base64,${base64(content)}`,
});
const bytes = Buffer.from(PNG, "base64");

type Answer = Partial<{ status: number; contentType: string; body: Uint8Array; charset: string }> | OutboundRefusalCode;

describe("pictures and files", limited, () => {
  it("are shown to the model, in every shape they come in", async (t) => {
    const web = ({ url: asked }: { url: string }) =>
      asked.endsWith(".png") ? { contentType: "image/png", body: bytes } : { body: Buffer.from("fetched text") };
    const scene = await openScene(t, { web });
    const source = { type: "base64", media_type: "IMAGE/PNG; x=y", data: PNG };
    const rows: readonly [what: string, parts: object[], shown: string, system?: RegExp][] = [
      ["a picture as data", [text, picture], "user: look [image]"],
      ["a picture alone", [picture], "user: [image]"],
      ["a picture from a URL", [text, url("a.png")], "user: look [image]"],
      [
        "pictures as sources",
        [
          text,
          { type: "input_image", source },
          { type: "input_image", source: { type: "url", url: "http://x.example/a.png" } },
        ],
        "user: look [image] [image]",
      ],
      [
        "a file as data",
        [text, file("say hello")],
        "user: look",
        /<file name="a\.txt">\nSECURITY: [^]*Source: API\n[^]*say hello\n[^]*<\/file>/,
      ],
      [
        "a file from a URL",
        [text, { type: "input_file", file_url: "https://x.example/a" }],
        "user: look",
        /<file name="file">\nSECURITY: [^]*Source: Web fetch\n[^]*fetched text\n/,
      ],
      [
        "a file as source",
        [
          text,
          {
            type: "input_file",
            source: {
              type: "base64",
              media_type: "text/plain; charset=utf-8",
              data: base64("sourced"),
              filename: 'a"b',
            },
          },
        ],
        "user: look",
        /<file name="a_b">[^]*sourced/,
      ],
      ["a file alone", [file("alone")], "user: [attached: a.txt]", /alone/],
      ["a PDF with words", [text, file("w".repeat(200), "a.pdf", "application/pdf")], "user: look", /wwww/],
      [
        "a PDF of pictures",
        [text, file("few", "a.pdf", "application/pdf")],
        "user: look [image]",
        /<file name="a\.pdf">\n\[1 of its pages as pictures\]\n<\/file>/,
      ],
    ];
    for (const [what, parts, expected, system] of rows) {
      await t.test(what, async () => {
        const { status, text: body } = await scene.send(ask(...parts));
        assert.equal(status, 200, body);
        assert.equal(
          shown(scene)
            .at(-1)
            ?.replace(/^user: \[[^\]]*\d\d:\d\d[^\]]*\]/, "user: "),
          expected,
        );
        if (system) assert.match(systemOf(scene), system);
      });
    }
    const [key = ""] = (await scene.keys()).slice(-1);
    assert.doesNotMatch(JSON.stringify(await scene.sessions.transcript(key, 9)), /say hello/, "files are not stored");
  });

  it("are external content, except for pictures that the caller sends", async (t) => {
    const web = () => ({ contentType: "image/png", body: bytes });
    const scene = await openScene(t, { web });
    const known = new Set<string>();
    const whose = async (...parts: object[]) => {
      assert.equal((await scene.send(ask(text, ...parts))).status, 200);
      const key = (await scene.keys()).find((one) => !known.has(one)) ?? assert.fail("there is no new session");
      known.add(key);
      const [{ message } = assert.fail()] = await scene.sessions.transcript(key, 9);
      return message.origin;
    };
    assert.equal(await whose(picture), undefined);
    assert.deepEqual(await whose(url("a.png")), outsideOrigin("web", "a picture"));
    assert.deepEqual(await whose(picture, file("do this")), outsideOrigin("file", "a.txt"));
  });

  it("are refused before anything runs, with what is wrong and no more", async (t) => {
    const scene = await openScene(t, {
      endpoint: {
        maxUrlParts: 2,
        files: { maxBytes: 20, allowedMimes: ["text/plain"] },
        images: { maxBytes: 100, allowUrl: false },
      },
      web: () => new GatewayError("UNAVAILABLE", "10.0.0.7 said: secret"),
    });
    const fileUrl = (name: string) => ({ type: "input_file", file_url: `https://x.example/${name}` });
    const rows: readonly [what: string, parts: object[], message: string][] = [
      [
        "too many URLs",
        [text, fileUrl("a"), fileUrl("b"), fileUrl("c")],
        "input: 3 URLs are too many; at most 2 are allowed",
      ],
      [
        "a URL where none is fetched",
        [text, url("a.png")],
        "input.0.content.1: URLs are not fetched here: send the content as base64",
      ],
      ["a large file", [text, file("x".repeat(21))], "input.0.content.1: 21 bytes are too many: at most 20 are taken"],
      [
        "a large picture",
        [text, { ...picture, image_url: `${data.slice(0, -4)}${"A".repeat(80)}` }],
        "input.0.content.1: 129 bytes are too many: at most 100 are taken",
      ],
      [
        "a type that is not taken",
        [file("a", "a.csv", "text/csv")],
        "input.0.content.0: content of type text/csv is not taken here",
      ],
      [
        "a picture of a type that is not taken",
        [{ ...picture, image_url: "data:image/tiff;base64,aGk=" }],
        "input.0.content.0: content of type image/tiff is not taken here",
      ],
      [
        "what is no base64",
        [{ ...picture, image_url: "data:image/png;base64,a*==" }],
        "input.0.content.0: the content is not base64",
      ],
      [
        "base64 that can be written otherwise",
        [{ ...picture, image_url: "data:image/png;base64,aGl=" }],
        "input.0.content.0: the content is not canonical base64",
      ],
      [
        "what is no picture",
        [{ ...picture, image_url: "data:image/png;base64,aGk=" }],
        "input.0.content.0: this is no picture",
      ],
      ["what cannot be read", [file("broken")], "input.0.content.0: the PDF cannot be read"],
      ["a URL that does not answer", [fileUrl("a")], "input.0.content.0: the URL could not be fetched"],
    ];
    for (const [what, parts, message] of rows) {
      await t.test(what, async () => {
        const { status, json } = await scene.send(ask(...parts));
        assert.deepEqual([status, json.error?.message, json.error?.type], [400, message, "invalid_request_error"]);
      });
    }
    assert.deepEqual([scene.server.requests.length, await scene.keys()], [0, []]);
  });

  it("are fetched within the limits of their kind, and refused with the gateway's own messages", async (t) => {
    let answer: Answer;
    const scene = await openScene(t, {
      endpoint: {
        files: { urlAllowlist: ["files.example"], maxBytes: 30, maxRedirects: 1, timeoutMs: 11, maxChars: 4 },
        images: { maxBytes: 99, maxRedirects: 2, timeoutMs: 22 },
      },
      web: () =>
        typeof answer === "string"
          ? new GatewayError("INVALID_REQUEST", "10.0.0.7", { details: { code: answer } })
          : answer,
    });
    const parts = [{ type: "input_file", file_url: "https://files.example/a" }];
    answer = { body: Buffer.from("caf\u00e9!", "latin1"), charset: "latin1" };
    assert.equal((await scene.send(ask(...parts))).status, 200);
    assert.match(systemOf(scene), /---\ncafé\n[^]*\[the rest was cut\]\n<\/file>/);
    answer = { contentType: "image/png", body: bytes };
    assert.equal((await scene.send(ask(url("a.png")))).status, 200);
    const asked = scene.fetched.map(({ signal, ...request }) => [request, signal instanceof AbortSignal]);
    assert.deepEqual(asked, [
      [
        { url: "https://files.example/a", maxBytes: 30, maxRedirects: 1, timeoutMs: 11, allowHosts: ["files.example"] },
        true,
      ],
      [{ url: "https://pictures.example/a.png", maxBytes: 99, maxRedirects: 2, timeoutMs: 22 }, true],
    ]);
    const rows: readonly [answered: Answer, message: string][] = [
      [{ status: 404 }, "the URL answered 404"],
      [{ contentType: "application/octet-stream" }, "content of type application/octet-stream is not taken here"],
      [
        "HOST_NOT_ALLOWED",
        "the URL is not in urlAllowlist: its host, or its path where an entry has one, does not match",
      ],
      ["ADDRESS_NOT_PUBLIC", "the URL does not lead to a public address"],
      ["TOO_MANY_REDIRECTS", "the URL is redirected too often"],
      ["REDIRECT_INVALID", "the URL has an invalid redirect"],
      ["URL_INVALID", "the URL cannot be fetched: only http and https without user name or password are allowed"],
      ["TOO_LARGE", "the content of the URL is too large: at most 30 bytes are allowed"],
    ];
    for (const [answered, message] of rows) {
      answer = answered;
      const { status, json } = await scene.send(ask(...parts));
      assert.deepEqual([status, json.error.message], [400, `input.0.content.0: ${message}`]);
    }
  });

  it("need the plugins that read and fetch them", async (t) => {
    const scene = await openScene(t, { plugins: [] });
    const rows: readonly [part: object, message: string | undefined][] = [
      [file("a"), "files cannot be read: the plugin `media` is not running"],
      [url("a.png"), "URLs cannot be fetched: the plugin `outbound` is not running"],
      [picture, undefined],
    ];
    for (const [part, message] of rows) {
      const { status, json } = await scene.send(ask(text, part));
      assert.deepEqual(
        [status, json.error?.message],
        message ? [400, `input.0.content.1: ${message}`] : [200, undefined],
      );
    }
    assert.equal(shown(scene).at(-1), "user: look [image]");
  });

  it("are not fetched from where only this machine can reach", async (t) => {
    const scene = await openScene(t, { plugins: ["outbound"] });
    for (const host of ["127.0.0.1", "localhost", "[::ffff:10.0.0.1]", "0x7f.1", "169.254.169.254"]) {
      const { status, json } = await scene.send(ask(text, { type: "input_image", image_url: `http://${host}/a.png` }));
      assert.equal(status, 400, host);
      assert.match(json.error.message, /^input\.0\.content\.1: the URL does not lead to a public address$/, host);
    }
  });
});
