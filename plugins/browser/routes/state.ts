/** Routes of cookies, storage, and what pages see of the machine. */
import { invalidRequest, Strict, Type } from "@svc/sdk";
import { cut } from "@svc/sdk/cli";
import type { BrowserContext, Page } from "playwright-core";
import { library } from "../chromium/library.ts";
import type { Tab } from "../chromium/tab.ts";
import { browserOf, outcome, route, tabOf, TARGET } from "./route.ts";

const MAX_ENTRIES = 1_000;
const MAX_VALUE = 10_000;
const Short = Type.String({ minLength: 1, maxLength: 500 });
const Long = Type.String({ maxLength: 100_000 });
const url = Type.Optional(Type.String({ pattern: "^https?://", maxLength: 8_000 }));
const clear = Type.Optional(Type.Boolean({ description: "back to the default" }));

const Cookie = Strict({
  name: Short,
  value: Long,
  url,
  domain: Type.Optional(Short),
  path: Type.Optional(Short),
  expires: Type.Optional(Type.Number({ description: "epoch seconds; default: end of the session" })),
  httpOnly: Type.Optional(Type.Boolean()),
  secure: Type.Optional(Type.Boolean()),
  sameSite: Type.Optional(Type.Enum(["Strict", "Lax", "None"])),
});
const Kind = Type.Enum(["local", "session"]);

function storageOf({ page }: Tab, kind: "local" | "session") {
  return kind === "local" ? page.localStorage : page.sessionStorage;
}

const storageRoutes = [
  route("GET", "/storage/:kind", { ...TARGET, kind: Kind, key: Type.Optional(Short) }, async (input, context) => {
    const tab = await tabOf(input, context);
    const { kind, key } = input;
    const storage = storageOf(tab, kind);
    const all = key === undefined ? await storage.items() : [{ name: key, value: await storage.getItem(key) }];
    const values = all
      .slice(0, MAX_ENTRIES)
      .flatMap(({ name, value }) => (value === null ? [] : [[name, cut(value, MAX_VALUE)]]));
    return outcome(tab, { kind, values: Object.fromEntries(values) as Record<string, string> });
  }),
  route("POST", "/storage/:kind/set", { ...TARGET, kind: Kind, key: Short, value: Long }, async (input, context) => {
    const tab = await tabOf(input, context);
    await storageOf(tab, input.kind).setItem(input.key, input.value);
    return outcome(tab);
  }),
  route("POST", "/storage/:kind/clear", { ...TARGET, kind: Kind }, async (input, context) => {
    const tab = await tabOf(input, context);
    await storageOf(tab, input.kind).clear();
    return outcome(tab);
  }),
];

const cookieRoutes = [
  route("GET", "/cookies", { url }, async (input, context) => {
    const { context: browser } = await browserOf(input, context);
    const all = await browser.cookies(input.url);
    const cookies = all.slice(0, MAX_ENTRIES).map((cookie) => ({ ...cookie, value: cut(cookie.value, MAX_VALUE) }));
    return { ok: true, cookies, total: all.length };
  }),
  route("POST", "/cookies/set", { cookie: Cookie }, async (input, context) => {
    const { context: browser } = await browserOf(input, context);
    const { cookie } = input;
    if ((cookie.url === undefined) === (cookie.domain === undefined))
      invalidRequest("a cookie needs either url or domain");
    if (cookie.url !== undefined && cookie.path !== undefined)
      invalidRequest("a cookie with url takes its path from it");
    await browser.addCookies([cookie.domain === undefined ? cookie : { path: "/", ...cookie }]);
    return { ok: true };
  }),
  route(
    "POST",
    "/cookies/clear",
    { name: Type.Optional(Short), domain: Type.Optional(Short) },
    async (input, context) => {
      const { context: browser } = await browserOf(input, context);
      const { name, domain } = input;
      await browser.clearCookies({ ...(name ? { name } : {}), ...(domain ? { domain } : {}) });
      return { ok: true };
    },
  ),
];

const Headers = Type.Record(
  Type.String({ pattern: "^[A-Za-z0-9-]{1,100}$" }),
  Type.String({ maxLength: 4_000, pattern: "^[^\\r\\n]*$" }),
  { maxProperties: 50 },
);
const scheme = Type.Optional(Type.Enum(["light", "dark", "no-preference"]));

/** Settings of the whole browser. */
const contextRoutes = [
  route("POST", "/set/offline", { offline: Type.Boolean() }, async (input, context) => {
    const { context: browser } = await browserOf(input, context);
    await browser.setOffline(input.offline);
    return { ok: true };
  }),
  route("POST", "/set/headers", { headers: Headers }, async (input, context) => {
    const { context: browser } = await browserOf(input, context);
    await browser.setExtraHTTPHeaders(input.headers);
    return { ok: true };
  }),
  route(
    "POST",
    "/set/credentials",
    { username: Type.Optional(Short), password: Type.Optional(Long), clear },
    async (input, context) => {
      const { context: browser } = await browserOf(input, context);
      if (!input.clear && input.username === undefined) invalidRequest("name username and password, or clear: true");
      const { username = "", password = "" } = input;
      await browser.setHTTPCredentials(input.clear ? null : { username, password });
      return { ok: true };
    },
  ),
  route(
    "POST",
    "/set/geolocation",
    {
      latitude: Type.Optional(Type.Number({ minimum: -90, maximum: 90 })),
      longitude: Type.Optional(Type.Number({ minimum: -180, maximum: 180 })),
      accuracy: Type.Optional(Type.Number({ minimum: 0 })),
      origin: Type.Optional(Type.String({ pattern: "^https?://", description: "page that may know it; default: all" })),
      clear,
    },
    async (input, context) => {
      const { context: browser } = await browserOf(input, context);
      await setGeolocation(browser, input);
      return { ok: true };
    },
  ),
];

interface Position {
  readonly latitude?: number;
  readonly longitude?: number;
  readonly accuracy?: number;
  readonly origin?: string;
  readonly clear?: boolean;
}

async function setGeolocation(browser: BrowserContext, position: Position): Promise<void> {
  const { latitude, longitude, accuracy = 0, origin, clear: isCleared } = position;
  if (isCleared) {
    await browser.clearPermissions();
    return browser.setGeolocation(null);
  }
  if (latitude === undefined || longitude === undefined)
    return invalidRequest("name latitude and longitude, or clear: true");
  await browser.grantPermissions(["geolocation"], origin ? { origin } : {});
  return browser.setGeolocation({ latitude, longitude, accuracy });
}

/** Settings of one tab. */
const tabSettingRoutes = [
  route(
    "POST",
    "/set/media",
    {
      ...TARGET,
      media: Type.Optional(Type.Enum(["screen", "print"])),
      colorScheme: scheme,
      reducedMotion: Type.Optional(Type.Enum(["reduce", "no-preference"])),
    },
    async (input, context) => {
      const tab = await tabOf(input, context);
      const { media, colorScheme, reducedMotion } = input;
      await tab.page.emulateMedia({
        ...(media ? { media } : {}),
        ...(colorScheme ? { colorScheme } : {}),
        ...(reducedMotion ? { reducedMotion } : {}),
      });
      return outcome(tab);
    },
  ),
  route(
    "POST",
    "/set/timezone",
    { ...TARGET, timezoneId: Type.String({ maxLength: 60, description: "IANA name; empty: of this machine" }) },
    async (input, context) => {
      const tab = await tabOf(input, context);
      const { timezoneId } = input;
      if (timezoneId !== "" && !isZone(timezoneId))
        invalidRequest(`there is no time zone "${timezoneId}"; use a name such as Europe/Berlin`);
      await (await tab.cdp()).send("Emulation.setTimezoneOverride", { timezoneId });
      return outcome(tab);
    },
  ),
  route(
    "POST",
    "/set/locale",
    {
      ...TARGET,
      locale: Type.String({
        pattern: "^([a-z]{2,3}([_-][A-Za-z0-9]{2,8})*)?$",
        description: "e.g. de-DE; empty: default",
      }),
    },
    async (input, context) => {
      const tab = await tabOf(input, context);
      await (await tab.cdp()).send("Emulation.setLocaleOverride", input.locale === "" ? {} : { locale: input.locale });
      return outcome(tab);
    },
  ),
  route(
    "POST",
    "/set/device",
    { ...TARGET, name: Type.String({ minLength: 1, maxLength: 100, description: "e.g. iPhone 15" }) },
    async (input, context) => {
      const tab = await tabOf(input, context);
      await setDevice(tab.page, await tab.cdp(), input.name);
      return outcome(tab);
    },
  ),
];

function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

async function setDevice(
  page: Page,
  cdp: Awaited<ReturnType<BrowserContext["newCDPSession"]>>,
  name: string,
): Promise<void> {
  const { devices } = await library();
  const device = Object.hasOwn(devices, name) ? devices[name] : undefined;
  if (!device)
    return invalidRequest(
      `there is no device "${cut(name, 100)}"; e.g. ${Object.keys(devices).slice(0, 5).join(", ")}`,
    );
  const { viewport, userAgent, deviceScaleFactor, isMobile, hasTouch } = device;
  await page.setViewportSize(viewport);
  await cdp.send("Emulation.setUserAgentOverride", { userAgent });
  await cdp.send("Emulation.setDeviceMetricsOverride", { ...viewport, deviceScaleFactor, mobile: isMobile });
  await cdp.send("Emulation.setTouchEmulationEnabled", { enabled: hasTouch });
}

export const stateRoutes = [...cookieRoutes, ...storageRoutes, ...contextRoutes, ...tabSettingRoutes];
