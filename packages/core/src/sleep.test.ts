import { after, sleep } from './sleep.js';

beforeEach(() => jest.useFakeTimers());
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

describe('after', () => {
  it('does not believe a timer that is early by what is left of a millisecond', async () => {
    const now = jest.spyOn(performance, 'now').mockReturnValue(100.7);
    const work = jest.fn();
    after(10, work);
    // Timers count whole milliseconds.
    now.mockReturnValue(110.2);
    await jest.advanceTimersByTimeAsync(10);
    expect(work).not.toHaveBeenCalled();
    now.mockReturnValue(111.2);
    await jest.advanceTimersByTimeAsync(1);
    expect(work).toHaveBeenCalledTimes(1);
  });

  it('goes by its timer where tests have stopped the other clock', async () => {
    jest.spyOn(performance, 'now').mockReturnValue(0);
    const work = jest.fn();
    after(5000, work);
    await jest.advanceTimersByTimeAsync(5000);
    expect(work).toHaveBeenCalledTimes(1);
  });
});

describe('sleep', () => {
  it('forgets the signal when it is over, and the timer when it is aborted', async () => {
    const { signal } = new AbortController();
    const remove = jest.spyOn(signal, 'removeEventListener');
    const slept = sleep(10, signal);
    await jest.advanceTimersByTimeAsync(10);
    expect(await slept).toBe(true);
    expect(remove).toHaveBeenCalledTimes(1);
    const controller = new AbortController();
    const woken = sleep(10, controller.signal);
    controller.abort();
    expect(await woken).toBe(false);
    expect(await sleep(10, controller.signal)).toBe(false);
    expect(jest.getTimerCount()).toBe(0);
  });
});
