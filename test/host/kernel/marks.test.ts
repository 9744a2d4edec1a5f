import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  forgetMark,
  markMemory,
  markOf,
  newMark,
  NOBODY,
  ownerOf,
  runMarked,
  tellMarks,
} from "../../../host/kernel/marks.ts";
import { fakeOwner } from "../hooks/fake-owner.ts";

const seen = () => new Int32Array(markMemory())[0];

describe("marks", () => {
  it("say who runs, and after somebody else's turn say it again", () => {
    const [outer, inner] = [newMark(fakeOwner("outer", 1)), newMark(fakeOwner("inner", 2))];
    const marks: unknown[] = [seen()];
    runMarked(outer, () => {
      marks.push(seen());
      assert.throws(() =>
        runMarked(inner, () => {
          marks.push(seen());
          throw new Error("boom");
        }),
      );
      marks.push(seen());
    });
    assert.deepEqual([...marks, seen()], [NOBODY, outer, inner, outer, NOBODY]);
  });

  it("lead to their owner until they are forgotten, and are never given twice", () => {
    const owner = fakeOwner("a", 1);
    const mark = newMark(owner);
    assert.deepEqual([ownerOf(mark), markOf(owner), markOf(undefined)], [owner, mark, NOBODY]);
    forgetMark(mark);
    forgetMark(mark);
    assert.equal(ownerOf(mark), undefined);
    assert.notEqual(newMark(owner), mark);
  });

  it("tell those who listen whose they are, from before and from now on", () => {
    const before = newMark(fakeOwner("before", 1));
    const told: unknown[] = [];
    const stop = tellMarks((mark, plugin) => told.push([mark, plugin]));
    const after = newMark(fakeOwner("after", 2));
    forgetMark(before);
    stop();
    forgetMark(after);
    assert.deepEqual(told.slice(-3), [
      [before, "before"],
      [after, "after"],
      [before, undefined],
    ]);
  });
});
