/** koa and its router, with raw-body for the body: the usual server of this stack. */
import { Router } from "@koa/router";
import Koa from "koa";
import type { AddressInfo } from "node:net";
import rawBody from "raw-body";
import { announce } from "./control.ts";

const router = new Router();
router.post("/plugins/bench/wake", async (context) => {
  const { length } = context.request;
  const bytes = await rawBody(context.req, { limit: 1_048_576, ...(length === undefined ? {} : { length }) });
  const { text } = JSON.parse(bytes.toString()) as { text: string };
  context.body = { ok: true, length: text.length };
});

const app = new Koa();
app.use(router.routes());
app.use(router.allowedMethods());
const server = app.listen(0, "127.0.0.1", () => announce(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
