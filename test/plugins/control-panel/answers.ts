/** Changes what the gateway answers to one page, for states that are hard to bring about: rights of a browser, failures, data of plugins. */
import type { Page } from "playwright-core";

interface Frame {
  readonly type?: string;
  readonly id?: string;
  readonly method?: string;
  ok?: boolean;
  payload?: Record<string, unknown>;
  error?: { readonly code: string; readonly message: string };
}

/**
 * @param change gets each answer with the method it belongs to (`connect` for the handshake), and may change it
 */
export async function changeAnswers(page: Page, change: (method: string, answer: Frame) => void): Promise<void> {
  await page.routeWebSocket(/.*/, (socket) => {
    const gateway = socket.connectToServer();
    const methods = new Map<string, string>();
    socket.onMessage((message) => {
      const { id, method } = JSON.parse(String(message)) as Frame;
      if (id !== undefined && method !== undefined) methods.set(id, method);
      gateway.send(message);
    });
    gateway.onMessage((message) => {
      const frame = JSON.parse(String(message)) as Frame;
      const method = frame.type === "res" ? methods.get(frame.id ?? "") : undefined;
      if (method !== undefined) change(method, frame);
      socket.send(JSON.stringify(frame));
    });
  });
}

/** Leaves a browser only these scopes. */
export function withScopes(...scopes: readonly string[]): (method: string, answer: Frame) => void {
  return (method, { payload }) => {
    if (method === "connect" && payload?.["auth"]) payload["auth"] = { ...(payload["auth"] as object), scopes };
  };
}
