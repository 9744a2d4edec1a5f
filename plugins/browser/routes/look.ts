/** Routes that show a page: as text, as a picture, as a document. */
import { invalidRequest, Type } from "@svc/sdk";
import { cut } from "@svc/sdk/cli";
import type { Page } from "playwright-core";
import type { Tab } from "../chromium/tab.ts";
import { DRAW_LABELS, PAGE_SIZE, REMOVE } from "./page-scripts.ts";
import { ELEMENT, elementOf, outcome, route, type RouteContext, tabOf, TARGET } from "./route.ts";

/** Characters of a snapshot. */
const MAX_CHARS = 80_000;
const EFFICIENT_CHARS = 10_000;
/** A page with more elements has no snapshot as a whole: its text alone would take hundreds of MB. */
const MAX_ELEMENTS = 50_000;
/** Pixels of a full page; the rest is left out. */
const MAX_HEIGHT = 16_000;
const MAX_WIDTH = 4_000;
/** Bytes of a file that is part of a result. */
const MAX_INLINE = 8 * 1024 * 1024;
const MAX_LABELS = 300;

const ROLES =
  /^\s*- (button|link|textbox|searchbox|checkbox|radio|combobox|listbox|option|menuitem|menuitemcheckbox|menuitemradio|slider|spinbutton|switch|tab|treeitem)\b/;
const inline = Type.Optional(Type.Boolean({ description: "the content is part of the result, as base64" }));
const type = Type.Optional(Type.Enum(["png", "jpeg"], { description: "default png" }));

const Snapshot = {
  ...TARGET,
  ...ELEMENT,
  format: Type.Optional(
    Type.Enum(["ai", "aria"], { description: "ai: with references (default); aria: roles and names only" }),
  ),
  maxChars: Type.Optional(Type.Integer({ minimum: 100, maximum: MAX_CHARS, description: `default ${MAX_CHARS}` })),
  interactive: Type.Optional(Type.Boolean({ description: "only elements that can be used" })),
  depth: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  labels: Type.Optional(Type.Boolean({ description: "also a picture that shows the references" })),
  mode: Type.Optional(Type.Enum(["efficient"], { description: `interactive, at most ${EFFICIENT_CHARS} characters` })),
};

/** A snapshot does not scroll, and its boxes are those of the visible part. */
const snapshot = route("GET", "/snapshot", Snapshot, async (input, context) => {
  const { browsers } = context;
  const tab = await tabOf(input, context);
  const isEfficient = (input.mode ?? browsers.config.snapshotDefaults.mode) === "efficient";
  const { format = "ai", interactive = isEfficient, labels = false, depth } = input;
  const { maxChars = isEfficient ? EFFICIENT_CHARS : MAX_CHARS } = input;
  const isWhole = input.ref === undefined && input.selector === undefined;
  const elements = isWhole ? await tab.page.locator("*").count() : 0;
  if (elements > MAX_ELEMENTS)
    invalidRequest(`the page has ${elements} elements; name a part of it with selector, e.g. main`);
  const options = {
    mode: format === "ai" || interactive || labels ? ("ai" as const) : ("default" as const),
    boxes: labels,
    ...(depth === undefined ? {} : { depth }),
  };
  const all = isWhole
    ? await tab.page.ariaSnapshot(options)
    : await (await elementOf(tab, input)).ariaSnapshot(options);
  const plain = all.replace(/ \[box=[-\d.,]+\]/g, "");
  const text = interactive ? interactiveLines(plain) : plain;
  return {
    ok: true,
    format,
    targetId: tab.id,
    url: tab.page.url(),
    title: cut(await tab.page.title(), 300),
    snapshot: cut(text, maxChars),
    truncated: text.length > maxChars,
    ...(labels ? await labelled(tab, all, context) : {}),
  };
});

function interactiveLines(text: string): string {
  const lines = text
    .split("\n")
    .filter((line) => line.includes("[ref=") && (ROLES.test(line) || line.includes("[cursor=pointer]")));
  return lines.map((line) => line.trim().replace(/:$/, "")).join("\n");
}

/** A picture of the visible part with the reference of each element beside it. */
async function labelled(tab: Tab, text: string, { files }: RouteContext): Promise<object> {
  const found = [...text.matchAll(/\[ref=(e\d+)\].*?\[box=([-\d.]+),([-\d.]+),([-\d.]+),([-\d.]+)\]/g)];
  const boxes = found
    .filter(([line]) => line.length < 2_000)
    .map(([, ref = "", ...box]) => ({ ref, box: box.map(Number) }))
    .slice(0, MAX_LABELS);
  const handle = await tab.page.evaluateHandle(DRAW_LABELS, boxes);
  try {
    const { path, bytes } = await files.save("labels.png", await tab.page.screenshot({ type: "png" }));
    return { imagePath: path, imageType: "image/png", imageBytes: bytes, labels: boxes.length };
  } finally {
    await handle.evaluate(REMOVE).catch(() => undefined);
  }
}

const Screenshot = {
  ...TARGET,
  ...ELEMENT,
  type,
  fullPage: Type.Optional(Type.Boolean({ description: `the whole page, up to ${MAX_HEIGHT} pixels high` })),
  quality: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: "of a jpeg; default 80" })),
  inline,
};

const screenshot = route("POST", "/screenshot", Screenshot, async (input, context) => {
  const tab = await tabOf(input, context);
  const { type: format = "png", fullPage = false } = input;
  const options = { type: format, ...(format === "jpeg" ? { quality: input.quality ?? 80 } : {}) };
  const isPart = input.ref !== undefined || input.selector !== undefined;
  if (isPart && fullPage) invalidRequest("a picture shows either the full page or an element");
  const picture = isPart
    ? await (await elementOf(tab, input)).screenshot(options)
    : await tab.page.screenshot({ ...options, ...(fullPage ? await wholePage(tab.page) : {}) });
  return stored(tab, `screenshot.${format}`, `image/${format}`, picture, input.inline, context);
});

async function wholePage(page: Page) {
  const [width, height] = (await page.evaluate(PAGE_SIZE, undefined)).map(Number); // a page can replace what it runs
  const clip = { x: 0, y: 0, width: bounded(width, MAX_WIDTH), height: bounded(height, MAX_HEIGHT) };
  return { fullPage: true, clip };
}

function bounded(length: number | undefined, most: number): number {
  return Math.min(Math.max(1, length || 1), most);
}

const pdf = route("POST", "/pdf", { ...TARGET, inline }, async (input, context) => {
  const tab = await tabOf(input, context);
  return stored(
    tab,
    "page.pdf",
    "application/pdf",
    await tab.page.pdf({ printBackground: true }),
    input.inline,
    context,
  );
});

async function stored(
  tab: Tab,
  name: string,
  mimeType: string,
  content: Buffer,
  isInline: boolean | undefined,
  { files }: RouteContext,
) {
  const { path, bytes } = await files.save(name, content);
  if (!isInline) return outcome(tab, { path, mimeType, bytes });
  if (bytes > MAX_INLINE) invalidRequest(`the file has ${bytes} bytes, too many for a result; it is at ${path}`);
  return outcome(tab, { path, mimeType, bytes, base64: content.toString("base64") });
}

const highlight = route("POST", "/highlight", { ...TARGET, ...ELEMENT }, async (input, context) => {
  const tab = await tabOf(input, context);
  await (await elementOf(tab, input)).highlight();
  return outcome(tab);
});

export const lookRoutes = [snapshot, screenshot, pdf, highlight];
