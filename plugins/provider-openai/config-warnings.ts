/** Finds settings of the responses API that cannot work. Pure. */
import { configuredServers } from "@svc/kit/providers";
import type { ConfigView, ConfigWarning } from "@svc/sdk";

export const RESPONSES = "openai-responses";

export function unusableServers(view: ConfigView): ConfigWarning[] {
  return configuredServers(view, RESPONSES).flatMap(
    ({ path, baseUrl, baseUrlPath, hasKey, headers }): ConfigWarning[] => {
      if (baseUrl === undefined && !hasKey && !headers.includes("authorization")) {
        return [
          {
            path,
            message: "api.openai.com requires a key: set apiKey, or the baseUrl of another server",
            breaks: true,
          },
        ];
      }
      if (baseUrl !== undefined && /\/(?:responses|chat\/completions)\/*$/u.test(baseUrl)) {
        const message =
          "the gateway adds /responses to the address: use the address before it, which usually ends in /v1";
        return [{ path: baseUrlPath, message, breaks: true }];
      }
      return [];
    },
  );
}
