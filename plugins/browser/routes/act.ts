/** The route `/act`: what a person would do with mouse and keyboard. */
import { invalidRequest, type Static, Strict, Type } from "@svc/sdk";
import { cut } from "@svc/sdk/cli";
import type { Tab } from "../chromium/tab.ts";
import { readUploads } from "../files.ts";
import { LOAD_STATES } from "./navigation.ts";
import { pageScript } from "./page-scripts.ts";
import { ELEMENT, elementOf, outcome, route, type RouteContext, tabOf, TARGET } from "./route.ts";

const MAX_RESULT = 100_000;
const Text = Type.String({ maxLength: 100_000 });
const Key = Type.String({ minLength: 1, maxLength: 60, description: "a key or keys, e.g. Enter or Control+A" });
const Script = Type.String({ minLength: 1, maxLength: 50_000, description: "expression, or function of the element" });
const Ref = ELEMENT.ref;
const Paths = Type.Array(Type.String({ minLength: 1, maxLength: 2_000 }), { minItems: 1, maxItems: 20 });
const modifiers = Type.Optional(
  Type.Array(Type.Enum(["Alt", "Control", "ControlOrMeta", "Meta", "Shift"]), { maxItems: 5 }),
);
const button = Type.Optional(Type.Enum(["left", "right", "middle"]));
const Field = Strict({
  ...ELEMENT,
  value: Type.Union([Text, Type.Boolean()], { description: "text, or true or false for a checkbox or radio button" }),
});

/** Keys of all kinds; `KINDS` says which of them a kind takes. */
const KEYS = {
  ...ELEMENT,
  text: Type.Optional(Text),
  submit: Type.Optional(Type.Boolean({ description: "press Enter afterwards" })),
  slowly: Type.Optional(Type.Boolean({ description: "key by key, for pages that react to each key" })),
  key: Type.Optional(Key),
  button,
  modifiers,
  startRef: Ref,
  endRef: Ref,
  values: Type.Optional(Type.Array(Text, { minItems: 1, maxItems: 100 })),
  fields: Type.Optional(Type.Array(Field, { minItems: 1, maxItems: 100 })),
  paths: Type.Optional(Paths),
  width: Type.Optional(Type.Integer({ minimum: 100, maximum: 4_000 })),
  height: Type.Optional(Type.Integer({ minimum: 100, maximum: 4_000 })),
  timeMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 60_000 })),
  textGone: Type.Optional(Text),
  url: Type.Optional(Type.String({ maxLength: 8_000, description: "exact, or with * and **" })),
  loadState: Type.Optional(Type.Enum(LOAD_STATES.slice(1))),
  fn: Type.Optional(Script),
};
type Input = Static<ReturnType<typeof Strict<typeof KEYS>>>;

interface Kind {
  readonly takes: readonly (keyof Input)[];
  readonly needs?: readonly (keyof Input)[];
  /** @returns what the result has in addition */
  run(tab: Tab, input: Input, context: RouteContext): Promise<object | void>;
}

const TARGETED = ["ref", "selector"] as const;
const MOUSE = [...TARGETED, "button", "modifiers"] as const;

const KINDS: Readonly<Record<string, Kind>> = {
  click: {
    takes: MOUSE,
    run: async (tab, input, { signal }) => (await elementOf(tab, input)).click({ ...mouse(input), signal }),
  },
  dblclick: {
    takes: MOUSE,
    run: async (tab, input, { signal }) => (await elementOf(tab, input)).dblclick({ ...mouse(input), signal }),
  },
  hover: {
    takes: [...TARGETED, "modifiers"],
    run: async (tab, input, { signal }) => (await elementOf(tab, input)).hover({ ...mouse(input), signal }),
  },
  scroll: {
    takes: TARGETED,
    run: async (tab, input, { signal }) => (await elementOf(tab, input)).scrollIntoViewIfNeeded({ signal }),
  },
  type: {
    takes: [...TARGETED, "text", "submit", "slowly"],
    needs: ["text"],
    async run(tab, input, { signal }) {
      const { text = "", submit, slowly } = input;
      const element = await elementOf(tab, input);
      await (slowly ? element.pressSequentially(text, { delay: 30, signal }) : element.fill(text, { signal }));
      if (submit) await element.press("Enter", { signal });
    },
  },
  press: {
    takes: [...TARGETED, "key"],
    needs: ["key"],
    async run(tab, input, { signal }) {
      const { key = "" } = input;
      await (isPage(input) ? tab.page.keyboard.press(key) : (await elementOf(tab, input)).press(key, { signal }));
    },
  },
  drag: {
    takes: ["startRef", "endRef"],
    needs: ["startRef", "endRef"],
    async run(tab, { startRef = "", endRef = "" }, { signal }) {
      await (await elementOf(tab, { ref: startRef })).dragTo(await elementOf(tab, { ref: endRef }), { signal });
    },
  },
  select: {
    takes: [...TARGETED, "values"],
    needs: ["values"],
    async run(tab, input, { signal }) {
      return { selected: await (await elementOf(tab, input)).selectOption(input.values ?? [], { signal }) };
    },
  },
  fill: {
    takes: ["fields"],
    needs: ["fields"],
    async run(tab, { fields = [] }, { signal }) {
      for (const { value, ...where } of fields) {
        const element = await elementOf(tab, where);
        await (typeof value === "boolean" ? element.setChecked(value, { signal }) : element.fill(value, { signal }));
      }
    },
  },
  upload: {
    takes: [...TARGETED, "paths"],
    needs: ["paths"],
    async run(tab, input, { caller, signal }) {
      const uploads = await readUploads(input.paths ?? [], await caller.uploads());
      await (await elementOf(tab, input)).setInputFiles(uploads, { signal });
    },
  },
  resize: {
    takes: ["width", "height"],
    needs: ["width", "height"],
    run: (tab, { width = 0, height = 0 }) => tab.page.setViewportSize({ width, height }),
  },
  wait: { takes: ["timeMs", "text", "textGone", "selector", "url", "loadState", "fn"], run: wait },
  evaluate: {
    takes: [...TARGETED, "fn"],
    needs: ["fn"],
    async run(tab, input, context) {
      requireScripts(context);
      const { fn = "" } = input;
      const value: unknown = await (isPage(input)
        ? tab.page.evaluate(pageScript(fn), undefined)
        : (await elementOf(tab, input)).evaluate(pageScript(fn)));
      const text = JSON.stringify(value) ?? "null";
      return text.length <= MAX_RESULT ? { result: value ?? null } : { result: cut(text, MAX_RESULT), truncated: true };
    },
  },
};

/** No element is named. */
function isPage({ ref, selector }: Input): boolean {
  return ref === undefined && selector === undefined;
}

function mouse({ button: which, modifiers: held }: Input) {
  return { ...(which ? { button: which } : {}), ...(held ? { modifiers: held } : {}) };
}

async function wait(tab: Tab, input: Input, context: RouteContext): Promise<void> {
  const { page } = tab;
  const { timeMs, text, textGone, selector, url, loadState, fn } = input;
  const { signal } = context;
  if (Object.keys(input).length === 0)
    invalidRequest("wait needs timeMs, text, textGone, selector, url, loadState or fn");
  if (timeMs !== undefined) await page.waitForTimeout(timeMs);
  if (text !== undefined) await page.getByText(text).first().waitFor({ state: "visible", signal });
  if (textGone !== undefined) await page.getByText(textGone).first().waitFor({ state: "hidden", signal });
  if (selector !== undefined) await page.locator(selector).first().waitFor({ signal });
  if (url !== undefined) await page.waitForURL(url, { signal, waitUntil: "commit" });
  if (loadState !== undefined) await page.waitForLoadState(loadState as "load", { signal });
  if (fn === undefined) return;
  requireScripts(context);
  await page.waitForFunction(pageScript(fn), undefined, { signal });
}

/** @throws GatewayError `INVALID_REQUEST` unless scripts are allowed */
function requireScripts({ browsers }: RouteContext): void {
  if (!browsers.config.evaluateEnabled)
    invalidRequest("scripts in pages are off; to allow them: svc config set browser.evaluateEnabled true");
}

/** Milliseconds in which a page shows the effect of an action, e.g. a dialog or the start of a navigation. */
const SETTLE_MS = 150;

export const actRoutes = [
  route("POST", "/act", { ...TARGET, ...KEYS, kind: Type.Enum(Object.keys(KINDS)) }, async (input, context) => {
    const { kind: name, profile, targetId, timeoutMs: _, ...keys } = input;
    const kind = KINDS[name] ?? invalidRequest(`there is no kind ${name}`);
    const given = Object.keys(keys) as (keyof Input)[];
    const extra = given.find((key) => !kind.takes.includes(key));
    if (extra) invalidRequest(`${name} takes ${kind.takes.join(", ")}; not ${extra}`);
    const missing = (kind.needs ?? []).find((key) => keys[key] === undefined);
    if (missing) invalidRequest(`${name} needs ${missing}`);
    const tab = await tabOf({ ...(profile ? { profile } : {}), ...(targetId ? { targetId } : {}) }, context);
    const before = tab.dialogs.total;
    const more = await kind.run(tab, keys, context);
    if (!tab.page.isClosed()) await tab.page.waitForTimeout(SETTLE_MS).catch(() => undefined);
    const dialogs = tab.dialogs.since(before);
    return outcome(tab, { ...more, ...(dialogs.length > 0 ? { dialogs } : {}) });
  }),
];
