/** Finds settings of Google's API that cannot work. Pure. */
import { configuredServers } from "@svc/kit/providers";
import type { ConfigView, ConfigWarning } from "@svc/sdk";

export const GOOGLE = "google-generative-ai";

export function unusableServers(view: ConfigView): ConfigWarning[] {
  return configuredServers(view, GOOGLE).flatMap(
    ({ path, baseUrl, baseUrlPath, hasKey, authHeader, authHeaderPath, headers }): ConfigWarning[] => {
      const warn = (at: string, message: string): ConfigWarning[] => [{ path: at, message, breaks: true }];
      if (authHeader !== undefined) {
        return warn(authHeaderPath, "this API takes the key as x-goog-api-key only: remove authHeader");
      }
      if (!hasKey && !headers.some((name) => name === "x-goog-api-key" || name === "authorization")) {
        return warn(path, "this API requires a key: set apiKey");
      }
      if (baseUrl === undefined || !URL.canParse(baseUrl)) return [];
      const { hostname, pathname } = new URL(baseUrl);
      if (/\/openai\/?$/u.test(pathname)) {
        const message = `this is the address of the chat-completions API: remove /openai, or use the api "openai-completions"`;
        return warn(baseUrlPath, message);
      }
      if (hostname === "generativelanguage.googleapis.com" && !/^\/v\d\w*\/?$/u.test(pathname)) {
        return warn(baseUrlPath, "the address must end in the version of the API, e.g. /v1beta; or remove baseUrl");
      }
      return [];
    },
  );
}
