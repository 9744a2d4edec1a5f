/** The conversations of an agent that is deleted. */
import type { Principal } from "@svc/sdk";
import { messageOf } from "@svc/sdk/errors";
import type { Sessions } from "@svc/sdk/sessions";

/** Sessions of one page. */
const PAGE = 500;

/**
 * Archives every session of an agent, its runs stopped first: an agent that gets the same id later must not inherit them.
 * @param forget as `sessions.delete` @returns sessions that stay, and why
 */
export function createSessionArchive(
  sessions: Pick<Sessions, "recent">,
  forget: (key: string, principal: Principal) => Promise<unknown>,
) {
  return async (agentId: string, principal: Principal): Promise<readonly string[]> => {
    const failed = new Map<string, string>();
    for (;;) {
      const page = await sessions.recent({ limit: PAGE + failed.size, agentId });
      // `global` counts as the default agent's, and stays.
      const keys = page.map(({ key }) => key).filter((key) => key.startsWith(`agent:${agentId}:`) && !failed.has(key));
      if (keys.length === 0) break;
      for (const key of keys) {
        try {
          await forget(key, principal);
        } catch (error) {
          failed.set(key, messageOf(error));
        }
      }
    }
    return [...failed].map(([key, reason]) => `session ${key}: ${reason}`);
  };
}
