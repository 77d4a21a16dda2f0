// Charts of the results, as SVG.

import { init } from 'echarts';

const OURS = '#0b7285';
const PEER = '#adb5bd';
const CONTROL = '#e9ecef';

const WIDTH = 760;
const ROW = 34;
/** Of a letter, on the average: text is not measured where there is no screen. */
const LETTER = 7;

/** What the tables call what is ours: in that of Redis, the algorithm. */
const isOurs = (name) => /sluice|^(sliding|fixed)-window|^gcra|-bucket$/i.test(name);
const isControl = (name) => /control|map|object|noop|return 1|by hand|double|bare|sending/i.test(name);
const colourOf = (name) => (isOurs(name) ? OURS : isControl(name) ? CONTROL : PEER);

/** Bars, one for each row, with its value beside it: what we do, what peers do, what the machine itself takes. */
export function bars(title, unit, rows, show) {
  return draw(100 + ROW * rows.length, {
    title: titled(title, unit),
    grid: { left: roomFor(rows), right: 70, top: 64, bottom: 32 },
    xAxis: { type: 'value', splitLine: { lineStyle: { color: '#f1f3f5' } } },
    yAxis: { type: 'category', inverse: true, data: rows.map(({ name }) => name), axisTick: { show: false } },
    series: [
      {
        type: 'bar',
        barWidth: 18,
        data: rows.map(({ name, value }) => ({ value, itemStyle: { color: colourOf(name) } })),
        label: { show: true, position: 'right', formatter: ({ value }) => show(value) },
      },
    ],
  });
}

/** Lines over the number of keys, both axes logarithmic. */
export function lines(title, unit, sizes, rows) {
  return draw(380, {
    title: titled(title, unit),
    grid: { left: 60, right: roomFor(rows), top: 64, bottom: 32 },
    xAxis: { type: 'category', data: sizes.map((size) => size.toLocaleString('en')), boundaryGap: false },
    yAxis: { type: 'log', splitLine: { lineStyle: { color: '#f1f3f5' } } },
    series: rows.map(({ name, values }) => ({
      name,
      type: 'line',
      data: values,
      color: isOurs(name) ? OURS : '#868e96',
      lineStyle: { width: isOurs(name) ? 3 : 1.5, type: isControl(name) ? 'dashed' : 'solid' },
      endLabel: { show: true, formatter: '{a}', color: isOurs(name) ? OURS : '#495057' },
      labelLayout: { moveOverlap: 'shiftY' },
    })),
  });
}

const roomFor = (rows) => 20 + LETTER * Math.max(...rows.map(({ name }) => name.length));

const titled = (text, subtext) => ({
  text,
  subtext,
  left: 8,
  top: 4,
  textStyle: { fontSize: 15 },
  subtextStyle: { fontSize: 12 },
});

function draw(height, option) {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height });
  chart.setOption({ animation: false, backgroundColor: '#fff', ...option });
  const svg = chart.renderToSVGString();
  chart.dispose();
  // Nothing is pointed at in a picture; and whoever cannot see it is to know what it is.
  const still = svg.replace(/<style\b.*?<\/style>\s*/s, '').replace(/ class="[^"]*"/g, '');
  return `${still.replace('>', `>\n<title>${option.title.text}: ${option.title.subtext}</title>`)}\n`;
}
